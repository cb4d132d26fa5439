package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.spring.cluster.NodeMessage.Broadcast;
import org.leaderfollowers.spring.cluster.NodeMessage.Exchange;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply.Outcome;
import org.leaderfollowers.spring.cluster.NodeMessage.Send;
import org.leaderfollowers.spring.cluster.NodeMessage.TakenOver;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.session.SessionBroadcast;
import org.leaderfollowers.spring.session.SessionClaim;
import org.leaderfollowers.spring.session.SessionContestedException;
import org.leaderfollowers.spring.session.SessionEntry;
import org.leaderfollowers.spring.session.SessionHolder;
import org.leaderfollowers.spring.session.SessionNode;
import org.leaderfollowers.spring.session.StaleSessionException;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.get;

/** A node whose engine answers late, not at all or with failures. */
@Timeout(300)
class ClusterSessionDirectoryTests {

	private static final Duration LONG = Duration.ofHours(1);

	/** The four bytes of a number below 0, as text. */
	private static final String NEGATIVE = "\u0080\u0080";

	/** Only if the engine does not answer */
	private static final Duration SHORT = Duration.ofMillis(200);

	private static final byte[] NODE = WireForm.ofNode(7);

	private final ScriptedEngine engine = new ScriptedEngine();

	private final Holder holder = new Holder();

	private ClusterSessionDirectory directory;

	private long requests;

	/** The sessions of the node. */
	private static final class Holder implements SessionHolder {

		final Map<String, SessionEntry> held = new HashMap<>();

		final SimulatedDevice device = new SimulatedDevice();

		final List<SessionEntry> successors = new ArrayList<>();

		RuntimeException failure;

		/** Thrown when a session is looked for, or they are counted or listed. */
		Error error;

		@Override
		public List<SessionEntry> held() {
			if (this.error != null) {
				throw this.error;
			}
			return List.copyOf(this.held.values());
		}

		@Override
		public Connection connection(String name, long epoch) {
			if (this.failure != null) {
				throw this.failure;
			}
			if (this.error != null) {
				throw this.error;
			}
			SessionEntry entry = this.held.get(name);
			return (entry != null && entry.epoch() == epoch) ? this.device : null;
		}

		@Override
		public SessionBroadcast broadcast(String group, Map<java.nio.charset.Charset, ByteBuffer> messages) {
			return new SessionBroadcast(3, 2, 1, 0);
		}

		@Override
		public void takenOver(SessionEntry successor) {
			this.successors.add(successor);
		}

	}

	private void start(Duration timeout, int maxCachedNames) {
		this.directory = this.engine.directory(timeout, maxCachedNames);
		this.engine.nodes.put(ScriptedEngine.SELF, NODE);
		this.engine.nodes.put("north", NODE);
		this.engine.nodes.put("south", NODE);
		this.directory.start(this.holder);
	}

	private static SessionClaim claim(String name) {
		return new SessionClaim(name, ScriptedEngine.SELF, "default", 5, LONG);
	}

	private static SessionEntry entry(String name, String node, long epoch) {
		return new SessionEntry(name, node, "default", epoch, Instant.EPOCH, 0, Instant.EPOCH);
	}

	private SessionEntry register(String name, String node) {
		SessionEntry entry = entry(name, node, 5);
		this.engine.values.put(name, WireForm.of(entry));
		return entry;
	}

	private static ByteBuffer bytes(String text) {
		return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
	}

	private static <T extends Throwable> T failure(CompletableFuture<?> future, Class<T> type) {
		return assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> future.get(60, TimeUnit.SECONDS))
			.havingCause()
			.asInstanceOf(org.assertj.core.api.InstanceOfAssertFactories.type(type))
			.actual();
	}

	/** The engine has not answered, and its future does not wait for ever. */
	private void assertGivenUp() {
		this.engine.asked.forEach((asked) -> AbstractClusterEngineTests.assertFails(asked.future()));
	}

	@Test
	void aDirectoryIsThatOfOneNodeAndStopsWithIt() {
		start(LONG, 10);
		assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> this.directory.start(this.holder))
			.withMessageContaining("a process is one node");
		assertThat(this.engine.intervals).as("a third of the lease, and the interval of the verification")
			.containsExactly(List.of(3_333L, 3_333L), List.of(60_000L, 60_000L));
		this.directory.stop();
		assertThat(this.engine.stopped).containsExactly("timer", "engine");
	}

	/** An application that fails to start may never stop the directory. */
	@Test
	void noThreadKeepsTheVirtualMachine() {
		ClusterSessionDirectory real = ClusterSessionDirectory.of(this.engine,
				new ClusterOptions(ScriptedEngine.SELF, LONG, LONG, LONG, 10, ScriptedEngine.MAX_OUTBOUND_SIZE));
		real.start(this.holder);
		try {
			assertThat(Thread.getAllStackTraces().keySet())
				.filteredOn((thread) -> thread.getName().equals("lf-cluster"))
				.isNotEmpty()
				.allMatch(Thread::isDaemon);
		}
		finally {
			real.stop();
		}
	}

	@Test
	void aNodeThatHasStartedKnowsTheOthers() {
		this.engine.late.add("renew");
		start(LONG, 10);
		assertThat(this.directory.nodes()).extracting(SessionNode::id)
			.containsExactly(ScriptedEngine.SELF, "north", "south");
	}

	// The engine does not answer

	@Test
	void aNameThatIsNotFoundInTimeIsRejected() {
		start(SHORT, 10);
		this.engine.silent.add("get");
		assertThat(failure(this.directory.find("4711"), ExchangeRejectedException.class))
			.hasMessageContaining("could not be asked who holds session '4711'");
		assertGivenUp();
	}

	@Test
	void aLoginDoesNotWaitForASilentEngine() {
		start(SHORT, 10);
		this.engine.silent.add("get");
		SessionEntry own = get(this.directory.claim(claim("4711")));
		assertThat(own.node()).isEqualTo(ScriptedEngine.SELF);
		assertGivenUp();
		assertThat(this.engine.written).isEmpty();
	}

	@Test
	void anEntryOfWhichItIsNotKnownWhetherItWasRegisteredIsKept() {
		start(SHORT, 10);
		this.engine.silent.add("compareAndSet");
		SessionEntry own = get(this.directory.claim(claim("4711")));
		assertThat(this.engine.written).containsExactly(own);
		assertGivenUp();
	}

	@Test
	void aClaimThatCannotSucceedInTimeIsNotTriedAgain() {
		start(SHORT, 10);
		this.engine.silent.add("compareAndSet");
		SessionEntry own = get(this.directory.claim(claim("4711")));
		register("4711", "north");
		this.engine.asked.forEach(ScriptedEngine.Asked::answer);
		assertThat(this.engine.written).containsExactly(own);
	}

	@Test
	void aComparisonEndsAlthoughTheEngineDoesNotAnswer() {
		start(SHORT, 10);
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		this.engine.silent.add("touch");
		this.engine.verify();
		assertGivenUp();
		this.engine.silent.remove("touch");
		AbstractClusterEngineTests.eventually().untilAsserted(() -> {
			this.engine.verify();
			assertThat(this.engine.values).containsKey("4711");
		});
	}

	@Test
	void aCorrectionEndsAlthoughTheEngineDoesNotAnswer() {
		start(SHORT, 10);
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		this.engine.silent.add("compareAndSet");
		this.engine.verify();
		assertGivenUp();
		this.engine.silent.remove("compareAndSet");
		AbstractClusterEngineTests.eventually().untilAsserted(() -> {
			this.engine.verify();
			assertThat(this.engine.values).containsKey("4711");
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "get", "compareAndSet" })
	void aSessionThatCouldNotBeReleasedIsReleasedLater(String silent) {
		start(SHORT, 10);
		SessionEntry own = register("4711", ScriptedEngine.SELF);
		this.engine.silent.add(silent);
		this.directory.release(own);
		assertThat(this.engine.asked).hasSize(1);
		assertGivenUp();
		this.engine.silent.remove(silent);
		this.engine.verify();
		assertThat(this.engine.values).isEmpty();
		int reads = this.engine.read.size();
		this.engine.verify();
		assertThat(this.engine.read).as("released once").hasSize(reads);
	}

	@Test
	void onlySoManyReleasesAreTriedAgain() {
		start(LONG, 2);
		this.engine.failing.put("get", new IllegalStateException("from the test"));
		for (String name : List.of("1", "2", "3")) {
			this.directory.release(register(name, ScriptedEngine.SELF));
		}
		this.engine.failing.clear();
		this.engine.verify();
		assertThat(this.engine.values).containsOnlyKeys("3");
	}

	@Test
	void aSessionOfAnotherNodeIsNotReleased() {
		start(LONG, 10);
		register("4711", "north");
		this.directory.release(entry("4711", ScriptedEngine.SELF, 4));
		assertThat(this.engine.values).containsKey("4711");
		assertThat(this.engine.written).isEmpty();
	}

	// Comparing sessions with their entries

	@Test
	void loginsThatCouldNotBeRegisteredAreComparedTogether() {
		start(LONG, 10);
		this.engine.failing.put("get", new IllegalStateException("from the test"));
		for (int round = 1; round <= 2; round++) {
			SessionEntry own = get(this.directory.claim(claim("4711")));
			this.holder.held.put("4711", own);
			get(this.directory.claim(claim("4712")));
			assertThat(this.engine.soon).hasSize(round);
			this.engine.soon.get(round - 1).run();
			assertThat(own.isSameSession(WireForm.entryOrNull("4711", this.engine.values.get("4711")))).isTrue();
			this.engine.values.clear();
		}
		assertThat(this.engine.delays).as("the engine has had some time")
			.containsExactly(LONG.toMillis(), LONG.toMillis());
	}

	/** Otherwise no login would be registered soon any more. */
	@Test
	void aComparisonThatFailsWhileMemoryIsShortIsNotTheLastOneThatFollowsSoon() {
		start(LONG, 10);
		this.engine.failing.put("get", new IllegalStateException("from the test"));
		this.holder.held.put("4711", get(this.directory.claim(claim("4711"))));
		this.holder.error = new OutOfMemoryError("from the test");
		this.engine.soon.get(0).run();
		assertThat(this.engine.written).isEmpty();
		this.holder.error = null;
		get(this.directory.claim(claim("4712")));
		assertThat(this.engine.soon).hasSize(2);
		this.engine.soon.get(1).run();
		assertThat(this.engine.values).containsOnlyKeys("4711");
	}

	/** Otherwise no login would be registered soon any more. */
	@Test
	void aComparisonForWhichMemoryIsShortFollowsTheNextLogin() {
		start(LONG, 10);
		this.engine.failing.put("get", new IllegalStateException("from the test"));
		this.engine.unscheduled = new OutOfMemoryError("from the test");
		failure(this.directory.claim(claim("4711")), OutOfMemoryError.class);
		assertThat(this.engine.soon).isEmpty();
		get(this.directory.claim(claim("4711")));
		assertThat(this.engine.soon).hasSize(1);
	}

	/** The engine would otherwise get all requests of a large node at once. */
	@Test
	void aBatchWaitsForTheOneBefore() {
		start(LONG, 10);
		IntStream.range(0, 450)
			.mapToObj((i) -> entry("name" + i, ScriptedEngine.SELF, 5))
			.forEach((entry) -> this.holder.held.put(entry.name(), entry));
		this.engine.silent.add("touch");
		this.engine.verify();
		for (int size : List.of(200, 200, 50)) {
			List<ScriptedEngine.Asked<?>> batch = List.copyOf(this.engine.asked);
			assertThat(batch).hasSize(size);
			this.engine.asked.clear();
			batch.forEach(ScriptedEngine.Asked::answer);
		}
		assertThat(this.engine.asked).isEmpty();
	}

	@Test
	void sessionsAreComparedInBatches() {
		start(LONG, 10);
		IntStream.range(0, 450)
			.mapToObj((i) -> entry("name" + i, ScriptedEngine.SELF, 5))
			.forEach((entry) -> this.holder.held.put(entry.name(), entry));
		this.engine.verify();
		assertThat(this.engine.touched).extracting(List::size).containsExactly(200, 200, 50);
		assertThat(this.engine.values).containsOnlyKeys(this.holder.held.keySet());
	}

	@Test
	void anEntryOutlivesSeveralComparisons() {
		start(LONG, 10);
		get(this.directory.claim(claim("4711")));
		assertThat(this.engine.lifetimes).containsExactly(Duration.ofMinutes(10));
		this.engine.lifetimes.clear();
		this.holder.held.put("4712", entry("4712", ScriptedEngine.SELF, 5));
		this.engine.verify();
		assertThat(this.engine.written).hasSize(2);
		assertThat(this.engine.lifetimes).containsExactly(Duration.ofMinutes(10));
	}

	@Test
	void aBatchThatFailsLeavesTheNextOneAlone() {
		start(LONG, 10);
		IntStream.range(0, 400)
			.mapToObj((i) -> entry("name" + i, ScriptedEngine.SELF, 5))
			.forEach((entry) -> this.holder.held.put(entry.name(), entry));
		this.engine.silent.add("touch");
		this.engine.verify();
		this.engine.silent.clear();
		assertThat(this.engine.asked).hasSize(200);
		this.engine.asked
			.forEach((each) -> each.future().completeExceptionally(new IllegalStateException("from the test")));
		assertThat(this.engine.touched).extracting(List::size).containsExactly(200, 200);
		assertThat(this.engine.values).containsOnlyKeys(this.engine.touched.get(1));
	}

	/** The engine may keep it in a part that is suspended or overloaded. */
	@Test
	void anEntryThatIsNotFoundOutLeavesTheOthersAlone() {
		start(SHORT, 10);
		for (String name : List.of("4711", "4712", "4713")) {
			this.holder.held.put(name, entry(name, ScriptedEngine.SELF, 5));
		}
		SessionEntry later = entry("4713", "north", 6);
		this.engine.values.put("4713", WireForm.of(later));
		this.engine.unanswered.add("4711");
		this.engine.verify();
		assertThat(this.engine.values).containsOnlyKeys("4712", "4713");
		assertThat(this.holder.successors).containsExactly(later);
		AbstractClusterEngineTests.eventually().untilAsserted(() -> {
			this.engine.verify();
			assertThat(this.engine.touched).as("the next comparison").hasSizeGreaterThan(1);
		});
	}

	/** A timer drops a task that throws. */
	@Test
	void theTimerRepeatsWhatFailedWhileMemoryWasShort() {
		start(LONG, 10);
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		this.holder.error = new OutOfMemoryError("from the test");
		assertThatNoException().isThrownBy(this.engine::renew);
		assertThatNoException().isThrownBy(this.engine::verify);
		this.holder.error = null;
		this.engine.verify();
		assertThat(this.engine.values).containsKey("4711");
	}

	@Test
	void aComparisonThatIsAskedForMeanwhileFollows() {
		start(LONG, 10);
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		this.engine.silent.add("touch");
		this.engine.verify();
		this.engine.verify();
		this.engine.verify();
		assertThat(this.engine.touched).hasSize(1);
		this.engine.silent.clear();
		this.engine.asked.get(0).answer();
		assertThat(this.engine.touched).hasSize(2);
	}

	@Test
	void theEntryThatPrevailsWins() {
		start(LONG, 10);
		SessionEntry lower = register("lower", "north");
		SessionEntry higher = register("higher", "north");
		SessionEntry own = register("own", ScriptedEngine.SELF);
		SessionEntry winner = entry("lower", ScriptedEngine.SELF, lower.epoch() + 1);
		this.holder.held.put("lower", winner);
		this.holder.held.put("higher", entry("higher", ScriptedEngine.SELF, higher.epoch() - 1));
		this.holder.held.put("own", own);
		this.engine.verify();
		assertThat(WireForm.entry(this.engine.values.get("lower"))).isEqualTo(winner);
		assertThat(this.holder.successors).containsExactly(higher);
		assertThat(this.engine.sent).singleElement()
			.isInstanceOfSatisfying(TakenOver.class, (message) -> assertThat(message.successor()).isEqualTo(winner));
		assertThat(this.engine.sentTo).containsExactly("north");
		assertThat(this.engine.written).containsExactly(winner);
	}

	@Test
	void anEntryThatCannotBeReadLeavesTheOthersAlone() {
		start(LONG, 10);
		this.engine.values.put("unreadable", new byte[] { 99 });
		this.holder.held.put("unreadable", entry("unreadable", ScriptedEngine.SELF, 5));
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		this.engine.verify();
		assertThat(this.engine.values).containsKey("4711");
		assertThat(this.engine.values.get("unreadable")).containsExactly(99);
	}

	static Stream<byte[]> damagedEntries() {
		byte[] entry = WireForm.of(entry("4711", "north", 9));
		return Stream.of(new byte[0], Arrays.copyOf(entry, entry.length - 1), WireForm.of(entry("other", "north", 9)),
				WireForm.of(entry("4711", "north\nforged", 9)));
	}

	/** The epochs of this node would go on from there, and overflow. */
	@Test
	void anEpochThatIsDamagedPreventsNoClaim() {
		start(LONG, 10);
		this.engine.values.put("4711", WireForm.of(entry("4711", "north", Long.MAX_VALUE / 2)));
		for (String name : List.of("4711", "4712")) {
			assertThat(get(this.directory.claim(claim(name))).epoch()).isLessThan(WireForm.LATEST_EPOCH);
		}
	}

	@ParameterizedTest
	@MethodSource("damagedEntries")
	void aDamagedEntryIsReplaced(byte[] damaged) {
		start(LONG, 10);
		SessionEntry held = entry("4711", ScriptedEngine.SELF, 5);
		this.holder.held.put("4711", held);
		this.engine.values.put("4711", damaged);
		this.engine.verify();
		assertThat(this.engine.written).containsExactly(held);
		this.engine.values.put("4711", damaged);
		assertThat(failure(this.directory.find("4711"), ExchangeRejectedException.class))
			.hasMessageContaining("could not be asked");
		SessionEntry claimed = get(this.directory.claim(claim("4711")));
		assertThat(this.engine.written).containsExactly(held, claimed);
		assertThat(this.holder.successors).isEmpty();
	}

	@Test
	void aSessionThatEndsWhileItIsRegisteredIsReleased() {
		start(LONG, 10);
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		this.engine.silent.add("compareAndSet");
		this.engine.verify();
		this.holder.held.clear();
		this.engine.silent.clear();
		this.engine.asked.get(0).answer();
		assertThat(this.engine.values).isEmpty();
	}

	@Test
	void aCorrectionThatWasOvertakenTellsNobody() {
		start(LONG, 10);
		register("4711", "north");
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 6));
		this.engine.silent.add("compareAndSet");
		this.engine.verify();
		this.engine.values.put("4711", WireForm.of(entry("4711", "south", 7)));
		this.engine.asked.get(0).answer();
		assertThat(this.engine.sent).isEmpty();
	}

	// Claims

	@Test
	void theFormerNodeIsTold() {
		start(LONG, 10);
		register("4711", "north");
		this.engine.failing.put("nodes", new IllegalStateException("Nobody has to look for a node that is known"));
		SessionEntry own = get(this.directory.claim(claim("4711")));
		assertThat(own.takeovers()).isEqualTo(1);
		assertThat(own.epoch()).as("in microseconds").isEqualTo(this.engine.millis * 1_000);
		assertThat(this.engine.sentTo).containsExactly("north");
		assertThat(this.engine.sent.get(0).deadline()).as("never too late").isEqualTo(Long.MAX_VALUE);
		assertThat(get(this.directory.claim(claim("4711"))).epoch()).isGreaterThan(own.epoch());
		assertThat(this.engine.sentTo).as("not itself").containsExactly("north");
	}

	@Test
	void aNodeThatIsNotKnownMayHaveJustJoined() {
		start(LONG, 10);
		register("new", "east");
		register("gone", "west");
		this.engine.nodes.put("east", NODE);
		assertThat(get(this.directory.claim(claim("new"))).takeovers()).isEqualTo(1);
		assertThat(get(this.directory.claim(claim("gone"))).takeovers()).isZero();
	}

	@ParameterizedTest
	@ValueSource(ints = { 0, 1, 4 })
	void aDamagedDescriptionHidesNoNode(int length) {
		start(LONG, 10);
		this.engine.nodes.put("damaged", Arrays.copyOf(NODE, length));
		this.engine.nodes.put("east", NODE);
		this.engine.renew();
		assertThat(this.directory.nodes()).extracting(SessionNode::id)
			.containsExactly(ScriptedEngine.SELF, "damaged", "east", "north", "south");
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void theEngineForgesNoLineOfTheLog(CapturedOutput output) {
		start(LONG, 10);
		this.engine.nodes.put("east\nforged", NODE);
		this.engine.renew();
		assertThat(this.directory.nodes()).extracting(SessionNode::id)
			.containsExactly(ScriptedEngine.SELF, "north", "south");
		this.engine.nodes.remove("east\nforged");
		this.engine.renew();
		this.engine.failing.put("renew", new IllegalStateException("for input\nforged\u202e"));
		this.engine.renew();
		this.engine.pass(Duration.ofSeconds(10));
		assertThat(this.directory.problem()).endsWith("reaches no other: IllegalStateException: for input?forged?");
		assertThat(output.getOut()).contains("for input?forged?").doesNotContain("\nforged", "\u202e");
	}

	@Test
	void aNodeMayJoinWhileAnotherOneLooks() {
		start(LONG, 10);
		register("4711", "east");
		this.engine.silent.add("nodes");
		CompletableFuture<SessionEntry> claimed = this.directory.claim(claim("4711"));
		this.engine.nodes.put("east", NODE);
		this.engine.renew();
		this.engine.asked.get(1).answer();
		this.engine.asked.get(0).answer();
		assertThat(get(claimed).takeovers()).isEqualTo(1);
	}

	@Test
	void aClaimIsTriedAgainIfAnotherOneWasFaster() {
		start(LONG, 10);
		this.engine.silent.add("compareAndSet");
		CompletableFuture<SessionEntry> claimed = this.directory.claim(claim("4711"));
		SessionEntry other = register("4711", "north");
		this.engine.silent.clear();
		this.engine.asked.get(0).answer();
		assertThat(get(claimed).prevailsOver(other)).isTrue();
		assertThat(get(claimed).isSameSession(WireForm.entry(this.engine.values.get("4711")))).isTrue();
	}

	@Test
	void aClaimThatIsTriedAgainEndsAtTheSameDeadline() {
		start(SHORT, 10);
		this.engine.silent.add("compareAndSet");
		CompletableFuture<SessionEntry> claimed = this.directory.claim(claim("4711"));
		register("4711", "north");
		this.engine.asked.get(0).answer();
		assertThat(get(claimed).isSameSession(this.engine.written.get(this.engine.written.size() - 1))).isTrue();
	}

	@Test
	void aClaimIsNotTriedForEver() {
		start(LONG, 10);
		this.engine.silent.add("compareAndSet");
		CompletableFuture<SessionEntry> claimed = this.directory.claim(claim("4711"));
		for (int i = 0; i < 16; i++) {
			assertThat(claimed).isNotDone();
			this.engine.values.put("4711", WireForm.of(entry("4711", "north", 5 + i)));
			this.engine.asked.get(i).answer();
		}
		assertThat(claimed).isCompleted();
		assertThat(this.engine.written).hasSize(16);
	}

	@Test
	void aNameThatIsTakenOverTooOftenStays() {
		start(LONG, 10);
		this.engine.values.put("4711", WireForm.of(new SessionEntry("4711", "north", "default", 5, Instant.EPOCH, 5,
				Instant.ofEpochMilli(this.engine.millis))));
		failure(this.directory.claim(claim("4711")), SessionContestedException.class);
		assertThat(this.engine.written).isEmpty();
	}

	/** The engine may have lost it, or answer with what was true a moment ago. */
	@Test
	void aNodeHoldsItsNamesAlthoughItsOwnLeaseIsNotFound() {
		start(LONG, 10);
		this.engine.nodes.remove(ScriptedEngine.SELF);
		this.engine.renew();
		this.engine.values.put("4711", WireForm.of(new SessionEntry("4711", ScriptedEngine.SELF, "default", 5,
				Instant.EPOCH, 5, Instant.ofEpochMilli(this.engine.millis))));
		failure(this.directory.claim(claim("4711")), SessionContestedException.class);
	}

	@Test
	void anIsolatedNodeAsksNobody() {
		start(LONG, 10);
		SessionEntry cached = register("4712", "north");
		assertThat(get(this.directory.locate("4712"))).isEqualTo(cached);
		this.engine.read.clear();
		this.engine.pass(Duration.ofSeconds(10));
		SessionEntry first = get(this.directory.claim(claim("4711")));
		assertThat(get(this.directory.claim(claim("4711"))).epoch()).isGreaterThan(first.epoch());
		failure(this.directory.find("4711"), ExchangeRejectedException.class);
		failure(this.directory.locate("4712"), ExchangeRejectedException.class);
		failure(this.directory.send(entry("4711", "north", 5), bytes("x"), LONG), ExchangeRejectedException.class);
		assertThat(get(this.directory.broadcast(null, Map.of(), LONG))).isEqualTo(new SessionBroadcast(0, 0, 0, 2));
		assertThat(this.engine.read).isEmpty();
		assertThat(this.engine.sent).isEmpty();
		assertThat(this.directory.problem()).contains("the latest renewal of its lease takes too long");
		assertThat(this.directory.nodes()).containsExactly(new SessionNode(ScriptedEngine.SELF, 0, true));
		this.engine.renew();
		assertThat(this.directory.problem()).isNull();
		assertThat(this.directory.nodes()).extracting(SessionNode::id)
			.containsExactly(ScriptedEngine.SELF, "north", "south");
	}

	/** Each of them is alone, so only this node can tell which was later. */
	@Test
	void loginsAtTheSameTimeHaveDifferentEpochs() {
		start(LONG, 10);
		this.engine.pass(Duration.ofSeconds(10));
		// The timer of the test is not for several threads.
		get(this.directory.claim(claim("first")));
		List<Long> epochs = IntStream.range(0, 20_000)
			.parallel()
			.mapToObj((i) -> get(this.directory.claim(claim("4711"))).epoch())
			.toList();
		assertThat(epochs).doesNotHaveDuplicates();
	}

	@Test
	void aNodeThatWasIsolatedComparesItsSessions() {
		start(LONG, 10);
		SessionEntry held = entry("4711", ScriptedEngine.SELF, 5);
		this.holder.held.put("4711", held);
		this.engine.pass(Duration.ofSeconds(10));
		this.engine.renew();
		assertThat(this.engine.written).containsExactly(held);
	}

	@Test
	void aLoginOfAnIsolatedNodeIsRegisteredAlthoughItIsCompletedAfterwards() {
		start(LONG, 10);
		this.engine.pass(Duration.ofSeconds(10));
		SessionEntry own = get(this.directory.claim(claim("4711")));
		this.engine.renew();
		this.holder.held.put("4711", own);
		assertThat(this.engine.written).isEmpty();
		assertThat(this.engine.soon).hasSize(1);
		this.engine.soon.get(0).run();
		assertThat(this.engine.written).containsExactly(own);
	}

	// The cache

	@Test
	void theNamesThatWereUsedLastAreRemembered() {
		start(LONG, 2);
		for (String name : List.of("a", "b", "c")) {
			register(name, "north");
		}
		register("own", ScriptedEngine.SELF);
		for (String name : List.of("a", "b", "a", "own", "c", "a", "c", "b")) {
			assertThat(get(this.directory.locate(name))).isNotNull();
		}
		assertThat(this.engine.read).containsExactly("a", "b", "own", "c", "b");
	}

	@Test
	void aNameIsRememberedAfterARequest() {
		start(LONG, 10);
		SessionEntry entry = register("4711", "north");
		get(this.directory.locate("4711"));
		CompletableFuture<ByteBuffer> reply = this.directory.exchange(entry, bytes("request"), LONG);
		reply(Outcome.DONE, "reply");
		assertThat(get(reply)).isEqualTo(bytes("reply"));
		get(this.directory.locate("4711"));
		assertThat(this.engine.read).containsExactly("4711");
	}

	@Test
	void aNameIsForgottenWhenItMayHaveMoved() {
		start(LONG, 10);
		SessionEntry entry = register("4711", "north");
		get(this.directory.locate("4711"));
		this.engine.receiver.healed();
		get(this.directory.locate("4711"));
		assertThat(this.engine.read).as("after a healing").hasSize(2);
		SessionEntry own = get(this.directory.claim(claim("4711")));
		assertThat(get(this.directory.locate("4711"))).as("after a login here").isEqualTo(own);
		this.engine.read.clear();
		register("4711", "north");
		get(this.directory.locate("4711"));
		get(this.directory.locate("4711"));
		assertThat(this.engine.read).as("remembered").hasSize(1);
		CompletableFuture<Delivery> sent = this.directory.send(entry, bytes("x"), LONG);
		reply(Outcome.STALE, "");
		failure(sent, StaleSessionException.class);
		get(this.directory.locate("4711"));
		assertThat(this.engine.read).as("after a failure").hasSize(2);
		this.engine.nodes.remove("north");
		this.engine.renew();
		assertThat(get(this.directory.locate("4711"))).isNull();
		assertThat(this.engine.read).as("after the node has left").hasSize(3);
	}

	/** A node that does not answer may have lost the session to another one. */
	@Test
	void aNameIsForgottenWhenItsNodeHasNotAnswered() {
		start(LONG, 10);
		SessionEntry entry = register("4711", "north");
		get(this.directory.locate("4711"));
		failure(this.directory.exchange(entry, bytes("request"), SHORT), ExchangeTimeoutException.class);
		SessionEntry moved = register("4711", "south");
		assertThat(get(this.directory.locate("4711"))).isEqualTo(moved);
	}

	@Test
	void afterAHealingTheOthersAreLookedFor() {
		start(LONG, 10);
		this.engine.nodes.remove("north");
		this.engine.receiver.healed();
		assertThat(this.directory.nodes()).extracting(SessionNode::id).containsExactly(ScriptedEngine.SELF, "south");
	}

	// Requests to other nodes

	/** The other node answers the latest request. */
	private void reply(Outcome outcome, String payload) {
		int last = this.engine.sent.size() - 1;
		replyFrom(this.engine.sentTo.get(last), this.engine.sent.get(last), outcome, payload);
	}

	private void replyFrom(String node, NodeMessage request, Outcome outcome, String payload) {
		this.engine.receiver
			.receive(WireForm.of(new Reply(node, request.id(), request.deadline(), outcome, "detail", bytes(payload))));
	}

	private CompletableFuture<ByteBuffer> exchange(String node, Duration timeout) {
		return this.directory.exchange(entry("4711", node, 5), bytes("request"), timeout);
	}

	private void assertNothingIsPending() {
		assertThat(this.directory).extracting("requests.pending")
			.asInstanceOf(org.assertj.core.api.InstanceOfAssertFactories.MAP)
			.isEmpty();
	}

	@Test
	void aRequestThatIsNotAnsweredTimesOut() {
		start(LONG, 10);
		CompletableFuture<ByteBuffer> reply = exchange("north", SHORT);
		assertThat(failure(reply, ExchangeTimeoutException.class)).hasMessageContaining("'north' has not answered");
		assertNothingIsPending();
		reply(Outcome.DONE, "too late");
	}

	@Test
	void theShortestTimeoutIsAMillisecondForTheOtherNode() {
		start(LONG, 10);
		long now = now();
		exchange("north", Duration.ofNanos(1));
		assertThat(this.engine.sent.get(1).deadline()).isEqualTo(now + 1);
	}

	@Test
	void requestsToANodeThatHasLeftAreLost() {
		start(LONG, 10);
		CompletableFuture<ByteBuffer> lost = exchange("north", LONG);
		CompletableFuture<ByteBuffer> other = exchange("south", LONG);
		this.engine.nodes.remove("north");
		this.engine.renew();
		assertThat(failure(lost, ExchangeLostException.class)).hasMessageContaining("'north' has left");
		assertThat(other).isNotDone();
		reply(Outcome.DONE, "reply");
		assertThat(get(other)).isEqualTo(bytes("reply"));
		assertNothingIsPending();
		assertThat(failure(exchange("north", LONG), ExchangeRejectedException.class))
			.hasMessageContaining("'north' is gone");
		assertThat(this.engine.sent).hasSize(2);
		assertNothingIsPending();
	}

	@Test
	void theFailureOfTheEngineSaysWhetherARequestWasSent() {
		start(LONG, 10);
		this.engine.failing.put("send", new ClusterEngine.NodeGoneException("north"));
		failure(exchange("north", LONG), ExchangeRejectedException.class);
		this.engine.failing.put("send", new IllegalStateException("from the test"));
		failure(exchange("north", LONG), ExchangeLostException.class);
		assertNothingIsPending();
	}

	/** Messages would fill the heap while a node stands still. */
	@Test
	void aLimitedNumberOfBytesWaitsForEachNode() {
		start(LONG, 10);
		this.engine.silent.add("send");
		CompletableFuture<ByteBuffer> tooLarge = exchange("north", 2 * ScriptedEngine.MAX_OUTBOUND_SIZE);
		assertThat(failure(exchange("north", 0), ExchangeRejectedException.class)).hasMessageContaining("'north'")
			.hasMessageContaining(": %d bytes wait for it".formatted(WireForm.of(this.engine.sent.get(0)).length))
			.hasMessageContaining("lf.cluster.max-outbound-size");
		assertThat(exchange("south", ScriptedEngine.MAX_OUTBOUND_SIZE / 2)).isNotDone();
		assertThat(exchange("south", ScriptedEngine.MAX_OUTBOUND_SIZE / 4)).as("both are within the limit").isNotDone();
		failure(exchange("south", ScriptedEngine.MAX_OUTBOUND_SIZE / 4), ExchangeRejectedException.class);
		assertThat(this.engine.sentTo).containsExactly("north", "south", "south");
		assertThat(tooLarge).isNotDone();
		this.engine.asked.get(0).answer();
		this.engine.asked.get(1).future().completeExceptionally(new IllegalStateException("from the test"));
		for (String node : List.of("north", "south")) {
			assertThat(exchange(node, ScriptedEngine.MAX_OUTBOUND_SIZE / 2)).as(node).isNotDone();
		}
	}

	/** An engine throws nothing else than errors, for example because memory is short. */
	@Test
	void aMessageWhoseSendingFailedWithAnErrorDoesNotWait() {
		start(LONG, 10);
		this.engine.silent.add("send");
		this.engine.thrown = new LinkageError("made for the test");
		assertThatExceptionOfType(LinkageError.class)
			.isThrownBy(() -> exchange("north", ScriptedEngine.MAX_OUTBOUND_SIZE / 2));
		this.engine.thrown = null;
		assertThat(exchange("north", ScriptedEngine.MAX_OUTBOUND_SIZE / 2)).isNotDone();
	}

	private CompletableFuture<ByteBuffer> exchange(String node, int length) {
		return this.directory.exchange(entry("4711", node, 5), ByteBuffer.allocate(length), LONG);
	}

	@Test
	void repliesToANodeThatTakesNoneAreLimitedToo() {
		start(LONG, 10);
		this.engine.silent.add("send");
		exchange("north", ScriptedEngine.MAX_OUTBOUND_SIZE);
		this.engine.receiver
			.receive(WireForm.of(new Exchange("north", 1, this.engine.millis + 1_000, "4711", 5, bytes("request"))));
		assertThat(this.engine.sent).hasSize(1);
	}

	@Test
	void onlyTheNodeThatWasAskedMayAnswer() {
		start(LONG, 10);
		CompletableFuture<ByteBuffer> reply = exchange("north", LONG);
		replyFrom("south", this.engine.sent.get(0), Outcome.DONE, "forged");
		assertThat(reply).isNotDone();
		reply(Outcome.DONE, "reply");
		assertThat(get(reply)).isEqualTo(bytes("reply"));
	}

	@Test
	void theOutcomeOfTheOtherNodeIsThatOfTheRequest() {
		start(LONG, 10);
		Map<Outcome, Class<? extends Throwable>> failures = Map.of(Outcome.STALE, StaleSessionException.class,
				Outcome.REJECTED, ExchangeRejectedException.class, Outcome.TIMED_OUT, ExchangeTimeoutException.class,
				Outcome.LOST, ExchangeLostException.class, Outcome.INEXPRESSIBLE, IllegalArgumentException.class);
		failures.forEach((outcome, failure) -> {
			CompletableFuture<ByteBuffer> reply = exchange("north", LONG);
			reply(outcome, "");
			failure(reply, failure);
		});
		Delivery[] known = Delivery.values();
		for (int i = 0; i <= known.length; i++) {
			CompletableFuture<Delivery> sent = this.directory.send(entry("4711", "north", 5), bytes("x"), LONG);
			reply(Outcome.DONE, "\0\0\0" + (char) i);
			assertThat(get(sent)).as("unknown if a later version has sent it")
				.isEqualTo((i < known.length) ? known[i] : Delivery.UNKNOWN);
		}
		for (String damaged : List.of("", "\0\0\0", NEGATIVE)) {
			CompletableFuture<Delivery> sent = this.directory.send(entry("4711", "north", 5), bytes("x"), LONG);
			reply(Outcome.DONE, damaged);
			assertThat(get(sent)).as("unknown if a damaged node has sent it").isEqualTo(Delivery.UNKNOWN);
		}
	}

	@Test
	void aBroadcastCountsNodesThatFail() {
		start(LONG, 10);
		CompletableFuture<SessionBroadcast> sum = this.directory.broadcast(null, Map.of(), LONG);
		assertThat(this.engine.sentTo).containsExactly("north", "south");
		replyFrom("north", this.engine.sent.get(0), Outcome.DONE, "\0\0\0\1\0\0\0\2\0\0\0\3");
		replyFrom("south", this.engine.sent.get(1), Outcome.REJECTED, "");
		assertThat(get(sum)).isEqualTo(new SessionBroadcast(1, 2, 3, 1));
		for (String damaged : List.of("", NEGATIVE + "\0\0\0\2\0\0\0\3", "\0\0\0\1" + NEGATIVE + "\0\0\0\3",
				"\0\0\0\1\0\0\0\2" + NEGATIVE)) {
			CompletableFuture<SessionBroadcast> other = this.directory.broadcast(null, Map.of(), LONG);
			reply(Outcome.REJECTED, "");
			replyFrom("north", this.engine.sent.get(this.engine.sent.size() - 2), Outcome.DONE, damaged);
			assertThat(get(other)).as("a damaged node has not answered").isEqualTo(new SessionBroadcast(0, 0, 0, 2));
		}
	}

	// Requests of other nodes

	private void receive(long id, long deadline) {
		receive("north", id, deadline);
	}

	private void receive(String sender, long id, long deadline) {
		this.engine.receiver.receive(WireForm.of(new Send(sender, id, deadline, "4711", 5, bytes("command " + id))));
	}

	private Reply lastReply() {
		return (Reply) this.engine.sent.get(this.engine.sent.size() - 1);
	}

	private void assertRemembered(int count) {
		assertThat(this.directory).extracting("receiver.received")
			.asInstanceOf(org.assertj.core.api.InstanceOfAssertFactories.MAP)
			.hasSize(count);
	}

	@Test
	void aRequestIsExecutedOnceAndNotAfterItsDeadline() {
		start(LONG, 10);
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		receive(1, this.engine.millis);
		receive(1, this.engine.millis);
		receive(2, this.engine.millis - 1);
		receive(3, this.engine.millis + 1);
		receive("south", 3, this.engine.millis);
		assertThat(this.holder.device.received).as("each node counts its own requests")
			.containsExactly("command 1", "command 3", "command 3");
		assertThat(this.engine.sent).extracting(NodeMessage::id).containsExactly(1L, 3L, 3L);
		assertThat(lastReply().outcome()).isEqualTo(Outcome.DONE);
		long latest = this.engine.millis + 1_000;
		receive(4, latest);
		this.engine.pass(Duration.ofSeconds(1));
		this.engine.renew();
		receive(4, latest);
		assertThat(this.engine.sent).as("not forgotten too early").hasSize(4);
	}

	@Test
	void requestsAreForgottenAfterTheirDeadlines() {
		start(LONG, 10);
		receive(1, this.engine.millis + 1_000);
		receive(2, this.engine.millis + 3_000);
		this.engine.pass(Duration.ofSeconds(2));
		this.engine.renew();
		assertRemembered(1);
		receive(2, this.engine.millis + 1_000);
		assertThat(this.engine.sent).as("not forgotten").hasSize(2);
		this.engine.pass(Duration.ofSeconds(2));
		this.engine.renew();
		assertRemembered(0);
	}

	@Test
	void moreRequestsThanCanBeRememberedAreRefused() {
		start(LONG, 10);
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		for (long id = 1; id <= NodeReceiver.MAX_RECEIVED; id++) {
			receive(id, this.engine.millis + 1_000);
		}
		assertThat(lastReply().outcome()).isEqualTo(Outcome.DONE);
		receive(NodeReceiver.MAX_RECEIVED + 1, this.engine.millis + 1_000);
		assertThat(lastReply().outcome()).isEqualTo(Outcome.REJECTED);
		assertThat(lastReply().detail()).contains("accepts no more", "shorter timeouts");
		assertThat(this.holder.device.received).hasSize(NodeReceiver.MAX_RECEIVED);
		assertRemembered(NodeReceiver.MAX_RECEIVED);
		this.engine.pass(Duration.ofSeconds(2));
		this.engine.renew();
		receive(NodeReceiver.MAX_RECEIVED + 2, this.engine.millis + 1_000);
		assertThat(lastReply().outcome()).isEqualTo(Outcome.DONE);
	}

	@Test
	void aRequestThatFailsIsAnswered() {
		start(LONG, 10);
		receive(1, this.engine.millis);
		assertThat(lastReply().outcome()).isEqualTo(Outcome.STALE);
		this.holder.failure = new IllegalArgumentException("from the test");
		receive(2, this.engine.millis);
		assertThat(lastReply().outcome()).isEqualTo(Outcome.INEXPRESSIBLE);
		this.holder.failure = new IllegalStateException("from the test");
		receive(3, this.engine.millis);
		assertThat(lastReply()).extracting(Reply::outcome, Reply::detail)
			.containsExactly(Outcome.REJECTED, "from the test");
		this.holder.failure = null;
		this.holder.error = new LinkageError("an error");
		receive(4, this.engine.millis);
		assertThat(lastReply()).extracting(Reply::outcome, Reply::detail).containsExactly(Outcome.LOST, "an error");
		this.holder.error = new LinkageError() {

			@Override
			public String getMessage() {
				throw new IllegalStateException("from the test");
			}

		};
		// Not even its line of the log can be written.
		this.engine.pass(Duration.ofNanos(2 * NodeReceiver.LimitedLog.INTERVAL_NANOS));
		receive(5, this.engine.millis);
		assertThat(lastReply()).extracting(Reply::outcome, Reply::detail)
			.containsExactly(Outcome.LOST, this.holder.error.getClass().getName());
	}

	private Outcome exchange(long id) {
		this.engine.receiver.receive(
				WireForm.of(new Exchange("north", id, this.engine.millis + 1_000, "4711", 5, bytes("request " + id))));
		return lastReply().outcome();
	}

	@Test
	void anExchangeEndsAsThatOfTheConnection() {
		start(LONG, 10);
		assertThat(exchange(1)).isEqualTo(Outcome.STALE);
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		assertThat(exchange(2)).isEqualTo(Outcome.DONE);
		assertThat(lastReply().payload()).isEqualTo(bytes("request 2"));
		Map<Throwable, Outcome> failures = Map.of(new ExchangeRejectedException("detail", null), Outcome.REJECTED,
				new ExchangeTimeoutException("detail", null), Outcome.TIMED_OUT,
				new ExchangeLostException("detail", null), Outcome.LOST, new IllegalStateException("detail"),
				Outcome.LOST);
		long id = 3;
		for (Map.Entry<Throwable, Outcome> failure : failures.entrySet()) {
			this.holder.device.reply = CompletableFuture.failedFuture(failure.getKey());
			assertThat(exchange(id++)).isEqualTo(failure.getValue());
			assertThat(lastReply().detail()).isEqualTo("detail");
		}
		assertThat(this.holder.device.received).hasSize(5);
		assertThat(this.holder.device.timeout).isEqualTo(Duration.ofSeconds(1));
		this.engine.receiver
			.receive(WireForm.of(new Exchange("north", id, this.engine.millis, "4711", 5, bytes("request"))));
		assertThat(this.holder.device.timeout).as("never 0").isEqualTo(Duration.ofMillis(1));
	}

	@Test
	void aBroadcastOfAnotherNodeIsAnswered() {
		start(LONG, 10);
		this.engine.receiver.receive(WireForm.of(new Broadcast("north", 1, this.engine.millis, "group", Map.of())));
		assertThat(lastReply().payload()).isEqualTo(bytes("\0\0\0\3\0\0\0\2\0\0\0\1"));
	}

	@Test
	void aSessionThatWasTakenOverByAnotherNodeEnds() {
		start(LONG, 10);
		SessionEntry successor = entry("4711", "north", 6);
		this.engine.receiver.receive(WireForm.of(new TakenOver("north", 0, Long.MAX_VALUE, successor)));
		assertThat(this.holder.successors).containsExactly(successor);
		assertThat(this.engine.sent).isEmpty();
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void damagedMessagesDoNotFloodTheLog(CapturedOutput output) {
		start(LONG, 10);
		for (int i = 0; i < 100; i++) {
			this.directory.receive(new byte[] { WireForm.FORMAT });
		}
		this.holder.failure = new IllegalStateException("from the test");
		receive(1, this.engine.millis);
		this.engine.pass(Duration.ofNanos(2 * NodeReceiver.LimitedLog.INTERVAL_NANOS));
		this.directory.receive(new byte[] { WireForm.FORMAT });
		this.directory.receive(new byte[] { WireForm.FORMAT });
		this.engine.pass(Duration.ofNanos(NodeReceiver.LimitedLog.INTERVAL_NANOS));
		receive(2, this.engine.millis);
		assertThat(output.getOut().lines().filter((line) -> line.contains("WARN"))).satisfiesExactly(
				(first) -> assertThat(first).endsWith("could not be read"),
				(second) -> assertThat(second).endsWith("could not be read (100 more since the last such line)"),
				(third) -> assertThat(third)
					.endsWith("of node 'north' could not be handled (1 more since the last such line)"));
	}

	@Test
	void aRequestOfANewerVersionIsRefused() {
		start(LONG, 10);
		byte[] newer = WireForm.of(new Send("north", 1, this.engine.millis, "4711", 5, bytes("command")));
		newer[0] = 2;
		this.engine.receiver.receive(newer);
		assertThat(lastReply()).extracting(Reply::outcome, Reply::id).containsExactly(Outcome.REJECTED, 1L);
		byte[] notice = WireForm.of(new TakenOver("north", 0, Long.MAX_VALUE, entry("4711", "north", 5)));
		notice[0] = 2;
		this.engine.receiver.receive(notice);
		this.engine.receiver.receive(new byte[] { 1, 2, 3 });
		assertThat(this.engine.sent).hasSize(1);
	}

	// The others, and the time

	@Test
	void anAnswerThatComesLaterThanThatToALaterQuestionIsOutOfDate() {
		start(LONG, 10);
		this.engine.silent.add("nodes");
		this.engine.renew();
		this.engine.nodes.remove("north");
		this.engine.renew();
		this.engine.asked.get(1).answer();
		assertThat(this.directory.nodes()).extracting(SessionNode::id).containsExactly(ScriptedEngine.SELF, "south");
		this.engine.asked.get(0).answer();
		assertThat(this.directory.nodes()).extracting(SessionNode::id).containsExactly(ScriptedEngine.SELF, "south");
	}

	@Test
	void aRenewalThatIsNotAnsweredIsGivenUp() {
		start(SHORT, 10);
		this.engine.silent.add("renew");
		this.engine.renew();
		assertGivenUp();
		this.engine.asked.clear();
		this.engine.silent.clear();
		this.engine.silent.add("nodes");
		this.engine.renew();
		assertGivenUp();
	}

	/** The latest time at which this node executes a request. */
	private long time() {
		long low = 0;
		long high = this.engine.millis * 2;
		while (low < high) {
			long middle = (low + high) / 2;
			int before = this.engine.sent.size();
			receive(++this.requests, middle);
			if (this.engine.sent.size() > before) {
				high = middle;
			}
			else {
				low = middle + 1;
			}
		}
		return low;
	}

	/** The deadline of a request of this node, without its timeout. */
	private long now() {
		exchange("north", LONG);
		return this.engine.sent.get(this.engine.sent.size() - 1).deadline() - LONG.toMillis();
	}

	@Test
	void anEngineWhoseTimeGoesBackIsBelievedIfThatLasts() {
		start(LONG, 10);
		this.engine.pass(Duration.ofSeconds(20));
		long real = this.engine.millis;
		assertThat(time()).isEqualTo(real);
		this.engine.millis -= 8_000;
		for (int i = 0; i < 5; i++) {
			this.engine.renew();
			assertThat(time()).as("as receiver").isEqualTo(real);
			assertThat(now()).as("as sender").isBetween(real - 8_002, real - 8_000);
			this.engine.pass(Duration.ofSeconds(2));
			real += 2_000;
		}
		this.engine.renew();
		assertThat(time()).isEqualTo(this.engine.millis).isEqualTo(real - 8_000);
		assertThat(now()).isBetween(real - 8_002, real - 8_000);
	}

	@Test
	void aTimeThatIsNotBelievedYetLimitsDeadlinesUntilItIs() {
		start(LONG, 10);
		long real = this.engine.millis;
		this.engine.millis -= 8_000;
		this.engine.renew();
		this.engine.millis += 4_000;
		this.engine.renew();
		assertThat(now()).isBetween(real - 8_002, real - 8_000);
	}

	@Test
	void theNodesTellHowManySessionsTheyHold() {
		this.holder.held.put("4711", entry("4711", ScriptedEngine.SELF, 5));
		start(LONG, 10);
		assertThat(this.engine.description).isEqualTo(WireForm.ofNode(1));
		assertThat(this.directory.nodes()).containsExactly(new SessionNode(ScriptedEngine.SELF, 1, true),
				new SessionNode("north", 7, false), new SessionNode("south", 7, false));
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void theLogTellsWhoJoinsAndLeaves(CapturedOutput output) {
		start(LONG, 10);
		this.engine.nodes.remove("north");
		this.engine.renew();
		assertThat(output.getOut()).containsOnlyOnce("Node 'self' has joined the other nodes by The test")
			.containsOnlyOnce("Node 'north' has left");
	}

	@Test
	void theTimeOfTheEngineIsRightAgainAfterAPause() {
		start(LONG, 10);
		for (int pause = 0; pause < 3; pause++) {
			this.engine.pass(Duration.ofSeconds(20));
			this.engine.millis -= 8_000;
			this.engine.renew();
			this.engine.pass(Duration.ofSeconds(5));
			this.engine.renew();
			assertThat(time()).isEqualTo(this.engine.millis + 8_000);
			this.engine.millis += 8_000;
			if (pause == 1) {
				this.engine.renew();
				assertThat(now()).isBetween(this.engine.millis - 2, this.engine.millis);
			}
			assertThat(time()).isEqualTo(this.engine.millis);
		}
	}

	@Test
	void aTimeThatGoesForwardIsBelieved() {
		start(LONG, 10);
		this.engine.millis += 8_000;
		this.engine.renew();
		assertThat(time()).isEqualTo(this.engine.millis);
		assertThat(now()).isBetween(this.engine.millis - 2, this.engine.millis);
	}

	@Test
	void anAnswerThatTakesLongTellsLittleAboutTheTime() {
		start(LONG, 10);
		this.engine.silent.add("renew");
		this.engine.renew();
		this.engine.pass(Duration.ofMillis(999));
		this.engine.asked.get(0).answer();
		long real = this.engine.millis;
		assertThat(time()).as("not earlier than the engine's").isEqualTo(real + 999);
		assertThat(now()).as("not later than the engine's").isBetween(real - 2, real);
		this.engine.renew();
		this.engine.pass(Duration.ofMillis(1_000));
		this.engine.asked.get(1).answer();
		assertThat(time()).as("unchanged").isEqualTo(this.engine.millis + 999);
	}

	@Test
	void anAnswerThatTakesLongDoesNotTellThatTheTimeGoesBack() {
		start(LONG, 10);
		this.engine.silent.add("renew");
		this.engine.renew();
		this.engine.pass(Duration.ofSeconds(1));
		long real = this.engine.millis;
		this.engine.millis -= 8_000;
		this.engine.asked.get(0).answer();
		assertThat(now()).isBetween(real - 2, real);
	}

	@Test
	void theFirstAnswerTellsTheTimeHoweverLongItTakes() {
		this.engine.silent.add("renew");
		// The start waits for the answer.
		Thread.currentThread().interrupt();
		start(LONG, 10);
		assertThat(Thread.interrupted()).isTrue();
		this.engine.pass(Duration.ofSeconds(3));
		this.engine.asked.get(0).answer();
		assertThat(time()).isEqualTo(this.engine.millis + 3_000);
		assertThat(now()).isBetween(this.engine.millis - 2, this.engine.millis);
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void aNodeThatHasNotJoinedLogsOnce(CapturedOutput output) {
		this.engine.failing.put("renew", new IllegalStateException("from the test"));
		start(LONG, 10);
		this.engine.renew();
		this.engine.renew();
		assertThat(output.getOut().lines()).filteredOn((line) -> line.contains("could not renew its lease")).hasSize(1);
	}

	@Test
	void anEarlierRenewalThatIsAnsweredLaterChangesNothing() {
		start(LONG, 10);
		this.engine.silent.add("renew");
		this.engine.renew();
		this.engine.pass(Duration.ofSeconds(9));
		this.engine.renew();
		this.engine.asked.get(1).answer();
		this.engine.asked.get(0).answer();
		this.engine.pass(Duration.ofSeconds(9));
		assertThat(this.directory.problem()).isNull();
		this.engine.pass(Duration.ofSeconds(1));
		assertThat(this.directory.problem()).isNotNull();
	}

	/** The engine may have begun to count when it was asked. */
	@Test
	void aLeaseCountsFromTheQuestionRatherThanTheAnswer() {
		start(LONG, 10);
		this.engine.silent.add("renew");
		this.engine.pass(Duration.ofSeconds(5));
		this.engine.renew();
		this.engine.pass(Duration.ofSeconds(4));
		this.engine.asked.get(0).answer();
		this.engine.pass(Duration.ofSeconds(5));
		assertThat(this.directory.problem()).isNull();
		this.engine.pass(Duration.ofSeconds(1));
		assertThat(this.directory.problem()).isNotNull();
	}

	@Test
	void whatWasLostWhileTheEngineFailedIsLookedForAfterwards() {
		start(LONG, 10);
		this.engine.failing.put("renew", new IllegalStateException("from the test"));
		this.engine.renew();
		assertThat(this.directory.problem()).isNull();
		SessionEntry held = entry("4711", ScriptedEngine.SELF, 5);
		this.holder.held.put("4711", held);
		this.engine.failing.clear();
		this.engine.renew();
		assertThat(this.engine.written).containsExactly(held);
		this.engine.renew();
		assertThat(this.engine.touched).as("once").hasSize(1);
	}

}
