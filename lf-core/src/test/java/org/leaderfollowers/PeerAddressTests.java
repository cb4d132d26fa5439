package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

class PeerAddressTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private static final long BACKOFF_NANOS = Duration.ofMillis(100).toNanos();

	private final Semaphore lookedUp = new Semaphore(0);

	/** What a name resolves to. */
	private InetAddress[] addresses = { InetAddress.getLoopbackAddress() };

	private final AtomicInteger lookups = new AtomicInteger();

	private final CountDownLatch answered = new CountDownLatch(1);

	/** Lets all lookups end after the first one. */
	private final CountDownLatch answeredAgain = new CountDownLatch(1);

	private final PeerAddress address = address(new InetSocketAddress("127.0.0.1", 7000));

	private final Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");

	private PeerAddress address(InetSocketAddress requested) {
		return new PeerAddress("ledger", requested,
				new ClientOptions(1, new TcpSocketOptions(true, true, 0, 0), Correlation.inOrder(), 1, 0, 0,
						BACKOFF_NANOS, Duration.ofSeconds(10).toNanos(), 0, null, (request) -> false, () -> null,
						this::lookUp),
				this.lookedUp::release);
	}

	private InetAddress[] lookUp(String name) {
		Engine.pass(this.lookups.getAndIncrement() == 0 ? this.answered : this.answeredAgain);
		return this.addresses;
	}

	@BeforeEach
	void logRecoveries() {
		this.logger.setLevel(Level.INFO);
	}

	@AfterEach
	void restoreLevel() {
		this.logger.setLevel(null);
	}

	private List<String> lines(String text) {
		return this.engine.log().stream().filter((line) -> line.contains(text)).toList();
	}

	@Test
	void aPeerThatFailsAndRecoversAllTheTimeDoesNotFillTheLog() {
		for (int i = 0; i < 5000; i++) {
			this.address.failed("refused", 0, 0);
			this.address.succeeded();
		}
		// One line in 10 seconds.
		assertThat(lines("cannot connect to 127.0.0.1:7000: refused")).hasSizeBetween(1, 50);
		assertThat(lines("is connected to 127.0.0.1:7000 again")).hasSameSizeAs(lines("cannot connect to"));
	}

	@Test
	void failuresInARowAreOneLine() {
		for (int i = 0; i < 5000; i++) {
			this.address.failed("refused", 0, 0);
		}
		assertThat(lines("cannot connect to")).hasSize(1);
		this.address.succeeded();
		assertThat(lines("is connected to 127.0.0.1:7000 again, after 5000 failed attempts")).hasSize(1);
	}

	@Test
	void oneAttemptAtATimeTestsAnAddressThatFails() {
		this.address.attempt(this);
		this.address.ended(this);
		this.address.failed("refused", 0, 0);
		long retry = this.address.retryNanos();
		assertThat(this.address.isUsable(retry - 1)).isFalse();
		assertThat(this.address.isUsable(retry)).isTrue();
		this.address.attempt(this);
		assertThat(this.address.isUsable(retry)).isFalse();
		assertThat(this.address.retryNanos()).isEqualTo(EngineEventHandler.NO_DEADLINE);
		this.address.ended(this);
		assertThat(this.address.isUsable(retry)).isTrue();
		this.address.attempt(this);
		this.address.succeeded();
		this.address.failed("the connection ended at once", retry, retry);
		assertThat(this.address.isUsable(this.address.retryNanos())).isTrue();
		assertThat(this.address.snapshot())
			.isEqualTo(new ClientSnapshot.Address("127.0.0.1:7000", false, 1, 1, "the connection ended at once"));
		this.address.succeeded();
		assertThat(this.address.snapshot()).isEqualTo(new ClientSnapshot.Address("127.0.0.1:7000", true, 1, 0, null));
	}

	@Test
	void theEndOfAnOlderConnectionIsNotTheEndOfTheAttemptThatTests() {
		Object older = new Object();
		this.address.attempt(older);
		this.address.failed("refused", 0, 0);
		long retry = this.address.retryNanos();
		assertThat(this.address.isUsable(retry)).isTrue();
		this.address.attempt(this);
		this.address.ended(older);
		assertThat(this.address.isUsable(retry)).isFalse();
		this.address.ended(this);
		assertThat(this.address.isUsable(retry)).isTrue();
	}

	/** Otherwise nobody would test the address until the first connection ends. */
	@Test
	void aConnectionTestsNothingAnyMoreIfAnotherAttemptHasFailedSince() {
		this.address.failed("refused", 0, 0);
		this.address.attempt(this);
		long established = this.address.retryNanos() - 1;
		assertThat(this.address.established(this, established, established)).isNotEqualTo(established);
		this.address.failed("the connection ended at once", 0, established + 1);
		assertThat(this.address.established(this, established, established + 2))
			.isEqualTo(EngineEventHandler.NO_DEADLINE);
		assertThat(this.address.isUsable(this.address.retryNanos())).isTrue();
		assertThat(this.address.isFailing()).isTrue();
	}

	@Test
	void onlyAConnectionThatIsYoungerThanTheLatestFailureProvesSomething() {
		assertThat(this.address.failedBefore(101)).isFalse();
		this.address.failed("refused", 100, 100);
		assertThat(this.address.failedBefore(99)).isFalse();
		assertThat(this.address.failedBefore(100)).isFalse();
		assertThat(this.address.failedBefore(101)).isTrue();
	}

	/** A proxy whose server is down accepts connections and closes them at once. */
	@ParameterizedTest
	@ValueSource(longs = { 0, Long.MAX_VALUE, Long.MAX_VALUE - 1000 })
	void aConnectionProvesTheAddressAfterTheShortestPause(long failed) {
		this.address.attempt(this);
		this.address.failed("refused", failed, failed);
		long established = failed + 1;
		assertThat(this.address.failedBefore(established)).isTrue();
		long proven = established + BACKOFF_NANOS;
		assertThat(this.address.established(this, established, proven - BACKOFF_NANOS)).isEqualTo(proven);
		assertThat(this.address.established(this, established, proven - 1)).isEqualTo(proven);
		assertThat(this.address.isFailing()).isTrue();
		assertThat(this.address.established(this, established, proven)).isEqualTo(EngineEventHandler.NO_DEADLINE);
		assertThat(this.address.isFailing()).isFalse();
		assertThat(this.address.isUsable(failed)).isTrue();
	}

	/** Clients whose server was restarted do not all come back at the same time. */
	@Test
	void pauseDoublesUpToItsMaximumAndHalfOfItIsRandom() {
		Set<Long> longest = new HashSet<>();
		// The time overflows meanwhile.
		long now = Long.MAX_VALUE - BACKOFF_NANOS;
		for (int i = 0; i < 1000; i++) {
			Duration pause = Duration.ofMillis(Math.min(100L << Math.min(i, 10), 10_000));
			this.address.failed("refused", now, now);
			long nanos = this.address.retryNanos() - now;
			assertThat(nanos).isBetween(pause.toNanos() / 2, pause.toNanos());
			assertThat(this.address.isUsable(now)).isFalse();
			longest.add(nanos);
			now += nanos;
		}
		assertThat(longest).hasSizeGreaterThan(100);
	}

	@Test
	void pausesAreShortAgainAfterASuccess() {
		for (int failed = 1; failed <= 8; failed++) {
			this.address.failed("refused", failed, failed);
		}
		this.address.succeeded();
		this.address.failed("refused", 8, 9);
		assertThat(this.address.retryNanos() - 9).isBetween(50_000_000L, 100_000_000L);
	}

	/** Otherwise the pause after a short restart would grow with the connections. */
	@Test
	void attemptsThatBeganBeforeAPauseDoNotDoubleIt() {
		for (int failed = 1; failed <= 8; failed++) {
			this.address.failed("refused", 1, failed);
		}
		long retry = this.address.retryNanos();
		assertThat(retry).isBetween(50_000_001L, 100_000_001L);
		assertThat(this.address.snapshot().failures()).isEqualTo(8);
		this.address.failed("timed out", 1, retry + 1);
		assertThat(this.address.retryNanos()).isEqualTo(retry);
		this.address.failed("refused", retry, retry + 2);
		assertThat(this.address.retryNanos() - retry).isBetween(100_000_002L, 200_000_002L);
	}

	@Test
	void addressOfANameThatIsKnownIsNotLookedUp() throws IOException {
		InetAddress known = InetAddress.getByAddress("known.invalid", new byte[] { 127, 0, 0, 1 });
		InetSocketAddress requested = new InetSocketAddress(known, 7000);
		PeerAddress address = address(requested);
		assertThat(address.next()).isSameAs(requested);
		assertThat(address.isBeingLookedUp()).isFalse();
	}

	@Test
	void theResultOfALookupIsUsedInOneRound() throws Exception {
		PeerAddress named = address(InetSocketAddress.createUnresolved("host", 7000));
		assertThat(named.isBeingLookedUp()).isFalse();
		for (int i = 0; i < 2; i++) {
			assertThat(named.next()).isNull();
			named.beginRound();
			assertThat(named.isBeingLookedUp()).isTrue();
		}
		this.answered.countDown();
		awaitLookup();
		InetSocketAddress found = new InetSocketAddress(InetAddress.getLoopbackAddress(), 7000);
		named.beginRound();
		assertThat(named.isBeingLookedUp()).as("a second lookup").isFalse();
		assertThat(named.next()).isEqualTo(found);
		assertThat(named.next()).isEqualTo(found);
		named.beginRound();
		assertThat(named.next()).isNull();
		this.answeredAgain.countDown();
		awaitLookup();
	}

	@Test
	void allAddressesOfANameAreUsedInTurn() throws Exception {
		this.addresses = new InetAddress[] { InetAddress.getByName("127.0.0.3"), InetAddress.getByName("127.0.0.1"),
				InetAddress.getByName("127.0.0.2") };
		this.answered.countDown();
		this.answeredAgain.countDown();
		PeerAddress named = address(InetSocketAddress.createUnresolved("host", 7000));
		List<String> used = new ArrayList<>();
		for (int i = 0; i < 6; i++) {
			assertThat(named.next()).isNull();
			awaitLookup();
			named.beginRound();
			used.add(named.next().getHostString());
			named.beginRound();
		}
		assertThat(used.subList(0, 3)).containsExactlyInAnyOrder("127.0.0.1", "127.0.0.2", "127.0.0.3");
		assertThat(used.subList(3, 6)).isEqualTo(used.subList(0, 3));
	}

	private void awaitLookup() throws InterruptedException {
		assertThat(this.lookedUp.tryAcquire(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
	}

}
