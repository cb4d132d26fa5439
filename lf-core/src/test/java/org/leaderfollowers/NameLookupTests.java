package org.leaderfollowers;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.ScriptedPeer.Session;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests how a client looks the names of its addresses up. The test is the name service.
 */
class NameLookupTests {

	private static final Duration LONG = Duration.ofMinutes(1);

	@RegisterExtension
	final Engine engine = new Engine();

	private final Map<String, AtomicInteger> lookups = new ConcurrentHashMap<>();

	private CountDownLatch answered;

	private volatile InetAddress[] addresses = { InetAddress.getLoopbackAddress() };

	private ScriptedPeer peer;

	private @Nullable TcpClient client;

	@BeforeEach
	void open() throws Exception {
		this.answered = this.engine.gate();
		this.peer = new ScriptedPeer();
	}

	@AfterEach
	void close() throws Exception {
		if (this.client != null) {
			// A heartbeat may be under way that nobody answers.
			this.client.close(Duration.ZERO);
		}
		this.peer.close();
	}

	private InetAddress[] lookUp(String name) throws UnknownHostException {
		this.lookups.computeIfAbsent(name, (key) -> new AtomicInteger()).incrementAndGet();
		switch (name) {
			case "slow" -> Engine.pass(this.answered);
			case "rotating" -> Collections.reverse(Arrays.asList(this.addresses));
			case "unknown" -> throw new UnknownHostException("unknown");
			case "broken" -> throw new IllegalStateException("made for the test");
			default -> {
			}
		}
		return this.addresses;
	}

	private int lookups(String name) {
		return this.lookups.getOrDefault(name, new AtomicInteger()).get();
	}

	private TcpClient.Builder builder() {
		return builder(this.engine.pool(2, 8));
	}

	private TcpClient.Builder builder(LeaderFollowersPool pool) {
		return TcpClient.builder(pool)
			.name("peer")
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.requestTimeout(LONG)
			.connectTimeout(LONG)
			.backoff(Duration.ofMillis(1), Duration.ofMillis(20))
			.names(this::lookUp);
	}

	private void start(TcpClient.Builder builder) {
		this.client = builder.build();
		this.client.start();
	}

	private ClientSnapshot.Address address(int index) {
		return this.client.snapshot().addresses().get(index);
	}

	private int port() {
		return this.peer.address().getPort();
	}

	@Test
	void aLookupThatHangsHoldsUpNeitherOtherAddressesNorHeartbeats() throws Exception {
		start(builder().address("slow", port())
			.address(this.peer.address())
			.connections(2)
			.heartbeat(Duration.ofMillis(1), () -> Engine.bytes("alive?")));
		try (Session session = this.peer.accept()) {
			assertThat(session.readLine()).isEqualTo("alive?");
			session.send("yes\n");
			assertThat(session.readLine()).isEqualTo("alive?");
			Engine.eventually().until(() -> lookups("slow") == 1);
			assertThat(address(0).connections()).isOne();
			this.answered.countDown();
			this.peer.accept();
			Engine.eventually().until(() -> this.client.snapshot().connected() == 2);
		}
	}

	@Test
	void aLookupThatHangsFailsAfterTheConnectTimeoutAndAnotherAddressIsUsed() throws Exception {
		try (ScriptedPeer slow = new ScriptedPeer()) {
			start(builder().address("slow", slow.address().getPort())
				.address(this.peer.address())
				.connectTimeout(Duration.ofMillis(100)));
			Session session = this.peer.accept();
			Engine.eventually().until(() -> this.client.snapshot().connected() == 1);
			assertThat(address(0)).satisfies((address) -> {
				assertThat(address.reachable()).isFalse();
				assertThat(address.connections()).isZero();
				assertThat(address.failure()).contains("the lookup of its name takes longer than the connect timeout");
			});
			assertThat(address(1).connections()).isOne();
			Engine.eventually().until(() -> lookups("slow") == 1);
			assertThat(this.client.snapshot().failedConnects()).isPositive();
			// A later attempt takes the answer that comes at last.
			this.answered.countDown();
			this.peer.close();
			session.reset();
			slow.accept();
			Engine.eventually().until(() -> address(0).connections() == 1);
		}
	}

	@Test
	void aNameIsLookedUpForEachAttempt() throws Exception {
		start(builder().address("host", port()));
		for (int i = 1; i <= 3; i++) {
			try (Session session = this.peer.accept()) {
				Engine.eventually().until(() -> this.client.snapshot().connected() == 1);
				assertThat(lookups("host")).isGreaterThanOrEqualTo(i);
				session.reset();
			}
		}
	}

	@Test
	void connectionsThatBeginTogetherShareALookup() throws Exception {
		start(builder().address("slow", port()).connections(5));
		Engine.eventually().until(() -> lookups("slow") == 1);
		this.answered.countDown();
		for (int i = 0; i < 5; i++) {
			this.peer.accept();
		}
		Engine.eventually().until(() -> this.client.snapshot().connected() == 5);
		assertThat(lookups("slow")).isOne();
		assertThat(address(0).connections()).isEqualTo(5);
	}

	/** Also if the connections are lost one after the other, as when a server drains. */
	@Test
	void anAddressThatFailsIsTestedByOneAttemptAndAllConnectionsComeBackAfterwards() throws Exception {
		AtomicInteger asked = new AtomicInteger();
		start(builder().address("host", port()).connections(2).names((name) -> {
			int number = asked.incrementAndGet();
			if (number == 2) {
				throw new UnknownHostException(name);
			}
			if (number == 3) {
				Engine.pass(this.answered);
			}
			return this.addresses;
		}));
		Session first = this.peer.accept();
		Session second = this.peer.accept();
		Engine.eventually().until(() -> this.client.snapshot().connected() == 2);
		second.reset();
		Engine.eventually().until(() -> asked.get() == 3);
		first.reset();
		Engine.eventually().until(() -> address(0).connections() == 1);
		this.answered.countDown();
		this.peer.accept();
		this.peer.accept();
		Engine.eventually().until(() -> this.client.snapshot().connected() == 2);
	}

	@Test
	void allAddressesOfANameAreUsedInTurn() throws Exception {
		withAnAddressThatFails();
		start(builder().address("host", port()));
		// Nobody listens at the second one, which is used first.
		this.peer.accept();
		assertThat(this.client.snapshot().failedConnects()).isOne();
	}

	private void withAnAddressThatFails() throws UnknownHostException {
		byte[] elsewhere = { 127, 0, 0, 2 };
		this.addresses = new InetAddress[] { InetAddress.getLoopbackAddress(), InetAddress.getByAddress(elsewhere) };
	}

	@Test
	void allAddressesAreUsedEvenIfTheNameServerRotatesThem() throws Exception {
		withAnAddressThatFails();
		Collections.reverse(Arrays.asList(this.addresses));
		start(builder().address("rotating", port()));
		this.peer.accept();
		assertThat(this.client.snapshot().failedConnects()).isOne();
	}

	@Test
	void aNameThatIsNotFoundIsReportedAndLookedUpAgain() {
		start(builder().address("unknown", 7).address("broken", 7).connections(2));
		Engine.eventually().until(() -> lookups("unknown") > 2 && lookups("broken") > 2);
		Engine.eventually().untilAsserted(() -> {
			assertThat(address(0).failure()).contains("UnknownHostException: unknown");
			assertThat(address(1).failure()).contains("made for the test");
		});
		assertThat(address(0).connections() + address(1).connections()).isLessThanOrEqualTo(2);
	}

	@Test
	void aClientIsClosedWhileALookupHangs() throws Exception {
		start(builder().address("slow", port()));
		Engine.eventually().until(() -> lookups("slow") == 1);
		assertThat(this.client.close(LONG)).isTrue();
		Engine.eventually().until(() -> address(0).connections() == 0);
		this.answered.countDown();
		LeaderFollowersPool pool = this.client.pool();
		assertThat(pool.close(LONG)).isTrue();
	}

	@Test
	void lookupsThatHangOccupyNoThreadsOfThePool() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 2);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message)));
		TcpClient.Builder builder = builder(pool);
		for (int i = 0; i < 4; i++) {
			builder.address("slow", port());
		}
		start(builder.connections(4));
		Engine.eventually().until(() -> lookups("slow") == 4);
		try (Peer peer = this.engine.connect(server)) {
			peer.send("hello\n");
			assertThat(peer.readLine()).isEqualTo("hello");
		}
		assertThat(pool.close(LONG)).isTrue();
	}

	@Test
	void theThreadOfALookupTellsWhatItLooksUpAndDoesNotKeepTheProcess() {
		start(builder().address("slow", port()));
		Engine.eventually()
			.untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet()).filteredOn(Thread::isDaemon)
				.extracting(Thread::getName)
				.contains("lf-lookup-slow"));
		this.answered.countDown();
		Engine.eventually()
			.untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet()).extracting(Thread::getName)
				.doesNotContain("lf-lookup-slow"));
	}

}
