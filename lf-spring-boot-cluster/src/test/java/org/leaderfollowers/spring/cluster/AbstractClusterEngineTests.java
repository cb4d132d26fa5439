package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.spring.cluster.ClusterEngine.Receiver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** The contract of {@link ClusterEngine}, for each engine. */
@Timeout(300)
abstract class AbstractClusterEngineTests {

	static final Duration LONG = Duration.ofHours(1);

	final String cluster = "test-" + UUID.randomUUID();

	private final List<ClusterEngine> engines = new ArrayList<>();

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Inbox firstInbox = new Inbox();

	private final Inbox secondInbox = new Inbox();

	ClusterEngine first;

	ClusterEngine second;

	String firstId;

	String secondId;

	/** Creates an engine for the first or second node. */
	abstract ClusterEngine create(int index, String cluster);

	/** Whether a message to a node that has stopped fails. */
	boolean noticesStoppedNodes() {
		return true;
	}

	ClusterEngine createEngine(int index) {
		ClusterEngine engine = create(index, this.cluster);
		this.engines.add(engine);
		return engine;
	}

	@BeforeEach
	void startNodes() {
		this.first = createEngine(0);
		this.second = createEngine(1);
		this.firstId = this.first.start("north", this.firstInbox);
		this.secondId = this.second.start("south", this.secondInbox);
	}

	@AfterEach
	void stopNodes() {
		this.threads.shutdownNow();
		this.engines.forEach(ClusterEngine::stop);
	}

	static ConditionFactory eventually() {
		return Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(20)).ignoreExceptions();
	}

	/** Returns the values that exist. */
	static Map<String, byte[]> touch(ClusterEngine engine, Collection<String> keys, Duration timeToLive) {
		Map<String, byte[]> present = new HashMap<>();
		engine.touch(keys, timeToLive).forEach((key, future) -> {
			byte[] value = get(future);
			if (value != null) {
				present.put(key, value);
			}
		});
		return present;
	}

	static <T> T get(Future<T> future) {
		try {
			return future.get(60, TimeUnit.SECONDS);
		}
		catch (InterruptedException | ExecutionException | TimeoutException ex) {
			throw new AssertionError(ex);
		}
	}

	static void assertFails(Future<?> future) {
		assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> future.get(60, TimeUnit.SECONDS));
	}

	static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

	private static byte[] random(int length) {
		byte[] bytes = new byte[length];
		new Random(length).nextBytes(bytes);
		return bytes;
	}

	@Test
	void aValueIsReplacedOnlyIfItIsTheExpectedOne() {
		byte[] one = bytes("one");
		byte[] two = bytes("two");
		assertThat(get(this.first.get("key"))).isNull();
		assertThat(get(this.first.compareAndSet("key", one, two, LONG))).isFalse();
		assertThat(get(this.first.compareAndSet("key", one, null, LONG))).isFalse();
		assertThat(get(this.second.get("key"))).isNull();
		assertThat(get(this.first.compareAndSet("key", null, one, LONG))).isTrue();
		assertThat(get(this.second.compareAndSet("key", null, two, LONG))).isFalse();
		assertThat(get(this.second.compareAndSet("key", two, two, LONG))).isFalse();
		assertThat(get(this.second.compareAndSet("key", two, null, LONG))).isFalse();
		assertThat(get(this.second.get("key"))).isEqualTo(one);
		assertThat(get(this.second.compareAndSet("key", one, two, LONG))).isTrue();
		assertThat(get(this.first.get("key"))).isEqualTo(two);
		assertThat(get(this.first.compareAndSet("key", two, null, LONG))).isTrue();
		assertThat(get(this.second.get("key"))).isNull();
		assertThat(get(this.second.compareAndSet("key", null, null, LONG))).isTrue();
	}

	@Test
	void anEmptyValueIsNotAMissingOne() {
		byte[] empty = {};
		assertThat(get(this.first.compareAndSet("key", null, empty, LONG))).isTrue();
		assertThat(get(this.second.get("key"))).isEmpty();
		assertThat(get(this.first.compareAndSet("key", null, bytes("x"), LONG))).isFalse();
		assertThat(get(this.second.compareAndSet("key", empty, random(100_000), LONG))).isTrue();
		assertThat(get(this.first.get("key"))).isEqualTo(random(100_000));
	}

	@Test
	void keysMayBeAnyText() {
		for (String key : List.of("", "a b", "{x}:*?", "Zürich\u0000\uD83D\uDE95")) {
			assertThat(get(this.first.compareAndSet(key, null, bytes(key), LONG))).isTrue();
			assertThat(get(this.second.get(key))).isEqualTo(bytes(key));
		}
	}

	@Test
	void noUpdateOfManyThreadsAndNodesIsLost() throws Exception {
		List<Callable<Void>> tasks = new ArrayList<>();
		for (int i = 0; i < 8; i++) {
			ClusterEngine engine = (i % 2 == 0) ? this.first : this.second;
			tasks.add(() -> {
				for (int n = 0; n < 50; n++) {
					increment(engine);
				}
				return null;
			});
		}
		for (Future<Void> future : this.threads.invokeAll(tasks)) {
			future.get();
		}
		assertThat(ByteBuffer.wrap(get(this.first.get("counter"))).getInt()).isEqualTo(400);
	}

	private static void increment(ClusterEngine engine) {
		byte[] current;
		byte[] next;
		do {
			current = get(engine.get("counter"));
			int count = (current != null) ? ByteBuffer.wrap(current).getInt() : 0;
			next = ByteBuffer.allocate(4).putInt(count + 1).array();
		}
		while (!get(engine.compareAndSet("counter", current, next, LONG)));
	}

	@Test
	void ofManyThatExpectNoValueOneSucceeds() throws Exception {
		for (int round = 0; round < 20; round++) {
			String key = "key-" + round;
			CyclicBarrier barrier = new CyclicBarrier(6);
			List<Callable<Boolean>> tasks = new ArrayList<>();
			for (int i = 0; i < 6; i++) {
				ClusterEngine engine = (i % 2 == 0) ? this.first : this.second;
				byte[] own = { (byte) i };
				tasks.add(() -> {
					barrier.await(60, TimeUnit.SECONDS);
					return get(engine.compareAndSet(key, null, own, LONG));
				});
			}
			List<Integer> winners = new ArrayList<>();
			List<Future<Boolean>> results = this.threads.invokeAll(tasks);
			for (int i = 0; i < results.size(); i++) {
				if (results.get(i).get()) {
					winners.add(i);
				}
			}
			assertThat(winners).hasSize(1);
			assertThat(get(this.first.get(key))).containsExactly(winners.get(0));
		}
	}

	@Test
	void aValueLivesForItsTime() {
		long began = System.nanoTime();
		assertThat(get(this.first.compareAndSet("short", null, bytes("value"), Duration.ofMillis(1500)))).isTrue();
		assertThat(get(this.first.compareAndSet("long", null, bytes("value"), LONG))).isTrue();
		eventually().until(() -> get(this.second.get("short")) == null);
		assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThanOrEqualTo(Duration.ofMillis(1500));
		assertThat(get(this.second.get("long"))).isNotNull();
		assertThat(get(this.second.compareAndSet("short", null, bytes("next"), LONG))).isTrue();
	}

	@Test
	void anUpdateSetsTheLifetimeAnew() {
		assertThat(get(this.first.compareAndSet("key", null, bytes("one"), LONG))).isTrue();
		assertThat(get(this.first.compareAndSet("key", bytes("one"), bytes("two"), Duration.ofMillis(100)))).isTrue();
		eventually().until(() -> get(this.second.get("key")) == null);
	}

	@Test
	void touchReturnsTheValuesThatExist() {
		List<String> keys = IntStream.range(0, 300).mapToObj((i) -> "key-" + i).toList();
		for (String key : keys.subList(0, 200)) {
			assertThat(get(this.first.compareAndSet(key, null, bytes(key), LONG))).isTrue();
		}
		Map<String, byte[]> touched = touch(this.second, keys, LONG);
		assertThat(touched).containsOnlyKeys(keys.subList(0, 200));
		assertThat(touched).allSatisfy((key, value) -> assertThat(value).isEqualTo(bytes(key)));
		assertThat(this.second.touch(keys, LONG)).containsOnlyKeys(keys);
		assertThat(this.second.touch(List.of(), LONG)).isEmpty();
		assertThat(get(this.first.get("key-250"))).isNull();
	}

	@Test
	void touchExtendsTheLifetime() {
		eventually().until(() -> {
			// Again if the values have expired before they were touched, on a busy
			// machine
			get(this.first.compareAndSet("touched", null, bytes("1"), Duration.ofSeconds(5)));
			get(this.first.compareAndSet("left", null, bytes("2"), Duration.ofSeconds(5)));
			return touch(this.second, List.of("touched"), LONG).containsKey("touched");
		});
		eventually().until(() -> get(this.first.get("left")) == null);
		assertThat(get(this.first.get("touched"))).isEqualTo(bytes("1"));
		assertThat(touch(this.second, List.of("touched", "left"), Duration.ofMillis(100))).containsOnlyKeys("touched");
		eventually().until(() -> get(this.first.get("touched")) == null);
	}

	@Test
	void nodesAreRegisteredForTheirLease() {
		assertThat(get(this.first.nodes())).isEmpty();
		get(this.first.renew(bytes("first"), LONG));
		get(this.second.renew(random(5_000), LONG));
		for (ClusterEngine engine : List.of(this.first, this.second)) {
			Map<String, byte[]> nodes = get(engine.nodes());
			assertThat(nodes).containsOnlyKeys(this.firstId, this.secondId);
			assertThat(nodes.get(this.firstId)).isEqualTo(bytes("first"));
			assertThat(nodes.get(this.secondId)).isEqualTo(random(5_000));
		}
		get(this.first.renew(new byte[0], LONG));
		assertThat(get(this.second.nodes()).get(this.firstId)).isEmpty();
		get(this.second.renew(bytes("second"), Duration.ofMillis(100)));
		eventually().until(() -> get(this.first.nodes()).size() == 1);
		assertThat(get(this.second.nodes())).containsOnlyKeys(this.firstId);
		get(this.second.renew(bytes("again"), LONG));
		assertThat(get(this.first.nodes())).containsOnlyKeys(this.firstId, this.secondId);
	}

	@Test
	void theTimeIsThatOfTheEngine() {
		long before = System.currentTimeMillis() - 60_000;
		List<Long> times = List.of(get(this.first.renew(bytes("1"), LONG)), get(this.second.renew(bytes("2"), LONG)),
				get(this.first.renew(bytes("1"), LONG)));
		assertThat(times).allSatisfy((time) -> assertThat(time).isBetween(before, System.currentTimeMillis() + 60_000));
	}

	@Test
	void everyRunHasItsOwnIdentifier() {
		assertThat(this.firstId).startsWith("north");
		assertThat(this.secondId).startsWith("south");
		this.first.stop();
		Inbox inbox = new Inbox();
		String again = createEngine(0).start("north", inbox);
		assertThat(again).startsWith("north").isNotEqualTo(this.firstId).isASCII().doesNotContainAnyWhitespaces();
		CompletableFuture<Void> lost = this.second.send(this.firstId, bytes("to the earlier run"));
		if (noticesStoppedNodes()) {
			assertFails(lost);
		}
		get(this.second.send(again, bytes("to this run")));
		eventually().until(() -> inbox.messages.containsKey("to this run"));
		assertThat(inbox.messages).hasSize(1);
		assertThat(this.firstInbox.messages).isEmpty();
	}

	@Test
	void messagesOfAllSizesArrive() {
		for (int size : new int[] { 0, 1, 1_000, 16_384, 65_536, 200_000 }) {
			for (String node : List.of(this.firstId, this.secondId)) {
				Inbox inbox = (node.equals(this.firstId)) ? this.firstInbox : this.secondInbox;
				get(this.first.send(node, random(size)));
				eventually().until(() -> inbox.last != null && Arrays.equals(inbox.last, random(size)));
			}
		}
		assertThat(this.firstInbox.count).hasValue(6);
		assertThat(this.secondInbox.count).hasValue(6);
	}

	@Test
	void eachMessageArrivesOnce() {
		List<CompletableFuture<Void>> sent = new ArrayList<>();
		for (int i = 0; i < 10_000; i++) {
			ClusterEngine engine = (i % 4 == 0) ? this.second : this.first;
			sent.add(engine.send(this.secondId, bytes("message " + i)));
		}
		sent.forEach(AbstractClusterEngineTests::get);
		eventually().until(() -> this.secondInbox.messages.size() == 10_000);
		get(this.first.send(this.secondId, bytes("last")));
		eventually().until(() -> this.secondInbox.messages.containsKey("last"));
		assertThat(this.secondInbox.messages.values()).containsOnly(1);
		assertThat(this.firstInbox.messages).isEmpty();
	}

	/** In other languages than Java, it may throw checked exceptions. */
	@ParameterizedTest
	@ValueSource(classes = { IllegalStateException.class, LinkageError.class, IOException.class })
	void aReceiverThatFailsReceivesTheNextMessage(Class<? extends Throwable> type) throws Exception {
		Throwable failure = type.getConstructor(String.class).newInstance("from the test");
		this.secondInbox.failure = (message) -> AbstractClusterEngineTests.<RuntimeException>fail(failure);
		get(this.first.send(this.secondId, bytes("one")));
		eventually().until(() -> this.secondInbox.messages.containsKey("one"));
		this.secondInbox.failure = (message) -> {
		};
		get(this.first.send(this.secondId, bytes("two")));
		eventually().until(() -> this.secondInbox.messages.containsKey("two"));
		assertThat(this.secondInbox.messages.values()).containsOnly(1);
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> void fail(Throwable failure) throws T {
		throw (T) failure;
	}

	@Test
	void aStoppedNodeIsGone() {
		get(this.first.renew(bytes("first"), LONG));
		get(this.second.renew(bytes("second"), LONG));
		this.second.stop();
		assertThat(get(this.first.nodes())).containsOnlyKeys(this.firstId);
		if (noticesStoppedNodes()) {
			eventually().untilAsserted(() -> assertFails(this.first.send(this.secondId, bytes("too late"))));
		}
		assertFails(this.second.renew(bytes("second"), LONG));
		this.second.stop();
		assertThat(get(this.first.nodes())).containsOnlyKeys(this.firstId);
		assertThat(this.firstInbox.healings).hasValue(0);
	}

	@Test
	void clustersWithDifferentNamesShareNothing() {
		get(this.first.renew(bytes("first"), LONG));
		assertThat(get(this.first.compareAndSet("key", null, bytes("value"), LONG))).isTrue();
		ClusterEngine stranger = create(1, "other-" + UUID.randomUUID());
		this.engines.add(stranger);
		stranger.start("south", new Inbox());
		assertThat(get(stranger.get("key"))).isNull();
		assertThat(get(stranger.nodes())).isEmpty();
	}

	/** Counts what a node receives. */
	static final class Inbox implements Receiver {

		final Map<String, Integer> messages = new ConcurrentHashMap<>();

		final AtomicInteger count = new AtomicInteger();

		final AtomicInteger healings = new AtomicInteger();

		volatile byte[] last;

		volatile Consumer<byte[]> failure = (message) -> {
		};

		@Override
		public void receive(byte[] message) {
			// Both before the test can see the message.
			Consumer<byte[]> failing = this.failure;
			this.count.incrementAndGet();
			this.messages.merge(new String(message, StandardCharsets.UTF_8), 1, Integer::sum);
			this.last = message;
			failing.accept(message);
		}

		@Override
		public void healed() {
			this.healings.incrementAndGet();
		}

	}

}
