package org.leaderfollowers;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.simulation.Counted;
import org.leaderfollowers.simulation.Simulation;
import org.leaderfollowers.simulation.Simulation.Result;
import org.leaderfollowers.simulation.Simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

/**
 * Simulates the whole engine, see {@link Simulator}: each seed is a run of
 * {@link EngineWorkload} with other options, requests, interleavings, delays and
 * failures. CONTRIBUTING.md tells how to run more seeds and how to replay one.
 */
class EngineSimulationTests {

	private static final String WORKLOAD = "org.leaderfollowers.EngineWorkload";

	private static final int SEEDS = 400;

	private static final int SEEDS_OF_CI = 10_000;

	/** The number of seeds within which each mutation is found. */
	private static final int SEEDS_OF_MUTATION = 3000;

	private static final int WORKERS = 2;

	@Test
	void everySeedIsServedToTheEnd() throws Exception {
		run(Long.getLong("simulation.from", 1), Long.getLong("simulation.seeds", SEEDS));
	}

	@Test
	@Tag("stress")
	void everySeedOfCiIsServedToTheEnd() throws Exception {
		run(1, SEEDS_OF_CI);
	}

	/** With {@code -Dsimulation.seed=<seed>}, prints all steps of this seed. */
	@Test
	void seedIsTraced() throws Exception {
		Long seed = Long.getLong("simulation.seed");
		Result result = new Simulation(WORKLOAD).run((seed != null) ? seed : 1, true);
		if (seed != null) {
			System.out.println(result.trace());
		}
		assertThat(result.violation()).isNull();
		assertThat(result.trace()).isNotEmpty();
	}

	@Test
	void seedIsReplayedExactly() throws Exception {
		Simulation first = new Simulation(WORKLOAD);
		Simulation second = new Simulation(WORKLOAD);
		for (long seed = 1; seed <= 50; seed++) {
			Result once = first.run(seed, false);
			Result again = second.run(seed, true);
			assertThat(again.steps()).as("steps of seed %d", seed).isEqualTo(once.steps());
			assertThat(again.signature()).as("signature of seed %d", seed).isEqualTo(once.signature());
		}
		for (long seed = 41; seed <= 44; seed++) {
			Result alone = new Simulation(WORKLOAD).run(seed, true);
			assertThat(alone.signature()).as("signature of seed %d alone", seed)
				.isEqualTo(first.run(seed, false).signature());
		}
		assertThat(LongStream.rangeClosed(1, 50).map((seed) -> signature(first, seed)).distinct().count())
			.isEqualTo(50);
	}

	@Test
	void aPoolThatCouldNotBeStartedIsStartedByTheNextAttempt() throws Exception {
		Simulation simulation = new Simulation("org.leaderfollowers.LateStartWorkload");
		for (long seed = 1; seed <= 20; seed++) {
			assertThat(simulation.run(seed, false).violation()).as("seed %d", seed).isNull();
		}
	}

	@Test
	void noMessageIsLostIfMemoryIsTooShortToReceiveIt() throws Exception {
		Simulation simulation = new Simulation("org.leaderfollowers.ConversationWorkload");
		for (long seed = 1; seed <= 1000; seed++) {
			assertThat(simulation.run(seed, false).violation()).as("seed %d", seed).isNull();
		}
	}

	@Test
	void aLeaderRestsWhileItsServerCannotAccept() throws Exception {
		Simulation simulation = new Simulation("org.leaderfollowers.HeldUpAcceptorWorkload");
		for (long seed = 1; seed <= 20; seed++) {
			assertThat(simulation.run(seed, false).violation()).as("seed %d", seed).isNull();
		}
	}

	private static long signature(Simulation simulation, long seed) {
		try {
			return simulation.run(seed, false).signature();
		}
		catch (ReflectiveOperationException | InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@ParameterizedTest
	@MethodSource("grossMutations")
	void grossMutationIsNoticed(Mutation mutation) throws Exception {
		requireNoticed(mutation);
	}

	@ParameterizedTest
	@MethodSource("mutations")
	@Tag("stress")
	void mutationIsNoticed(Mutation mutation) throws Exception {
		requireNoticed(mutation);
	}

	private static void requireNoticed(Mutation mutation) throws Exception {
		Simulation simulation = new Simulation(WORKLOAD, mutation);
		for (long seed = 1; seed <= SEEDS_OF_MUTATION; seed++) {
			Result result = simulation.run(seed, false);
			if (result.violation() != null) {
				assertThat(result.violation()).doesNotContain(VerifyError.class.getName());
				System.out.println(mutation + ": noticed by seed " + seed + ": "
						+ result.violation().lines().findFirst().orElse("").replaceAll("(.{200}).*", "$1"));
				return;
			}
		}
		fail("%d seeds do not notice the mutation %s", SEEDS_OF_MUTATION, mutation);
	}

	/** A signal, a re-arm, a permit, memory, and a promotion. */
	static Stream<Mutation> grossMutations() {
		return Stream.of(Mutation.withoutCall(HandleSet.class, "wakeSelector", "wakeup"),
				Mutation.withoutCall(SelectableHandle.class, "releaseOrLookAgain", "request"),
				Mutation.withoutCall(type("internal.buffer.SpareBuffers"), "giveBack", "release"));
	}

	static Stream<Mutation> mutations() {
		return Stream.of(
				// Signals that wake threads
				Mutation.withoutCall(type("internal.promotion.LifoFollowers"), "signal", "unpark"),
				Mutation.withoutCall(type("internal.promotion.OrderedFollowers"), "signal", "unpark"),
				Mutation.withoutCall(type("internal.exchange.Exchange"), "end", "unpark"),
				Mutation.withoutCall(type("internal.demultiplexing.UpdateQueue"), "request", "wakeLeader"),
				Mutation.callReturns(type("internal.demultiplexing.UpdateQueue"), "beginWait", "get", 0),
				Mutation.withoutCall(type("internal.lifecycle.Quiescence"), "changed", "notifyAll"),
				Mutation.withoutCall(ServerState.class, "changed", "changed"),
				// Promotions
				Mutation.withoutCall(type("internal.promotion.PromotionProtocol"), "promote", "signalFollower"),
				Mutation.callReturns(type("internal.promotion.PromotionProtocol"), "promote", "giveUp", 0),
				Mutation.withoutCall(type("internal.promotion.Vacancies"), "signalFollower", "startUnderWay"),
				Mutation.withoutCall(type("internal.promotion.Vacancies"), "startUnderWay", "arrive"),
				Mutation.withoutCall(type("internal.promotion.PromotionProtocol"), "arrive", "signalIfVacant"),
				Mutation.withoutCall(type("internal.promotion.LifoFollowers"), "leave", "arrive"),
				Mutation.withoutCall(type("internal.promotion.OrderedFollowers"), "leave", "arrive"),
				Mutation.withoutCall(type("internal.promotion.Unfolding"), "open", "signalIfVacant"),
				// Moves between handle sets and pools
				Mutation.withoutCall(SelectableHandle.class, "moveTo", "cancel"),
				Mutation.withoutCall(FramedConnection.class, "passOn", "request"),
				// Handles that are armed, claimed and released
				Mutation.withoutCall(HandleSet.class, "grant", "applyInterest"),
				Mutation.withoutCall(HandleSet.class, "deactivate", "applyInterest"),
				Mutation.withoutCall(HandleSet.class, "grant", "schedule"),
				Mutation.withoutCall(HandleSet.class, "applyUpdate", "gone"),
				Mutation.setsWithoutComparing(type("internal.demultiplexing.HandleState"), "release"),
				Mutation.callReturns(HandleSet.class, "applyInterest", "hasPendingBytes", 0),
				// Memory and permits
				Mutation.withoutCall(type("internal.buffer.OutboundBuffer"), "flush", "release"),
				Mutation.withoutCall(type("internal.buffer.OutboundBuffer"), "discard", "release"),
				Mutation.withoutCall(type("internal.window.MessageWindow"), "end", "remove"),
				Mutation.withoutCall(WindowedConnection.class, "runMessages", "depart"),
				// Datagrams
				Mutation.withoutCall(DatagramReceiver.class, "finished", "look"),
				Mutation.withoutCall(Datagram.class, "resume", "finished"),
				Mutation.withoutCall(Datagram.class, "handled", "handlerReturned"),
				// TLS
				Mutation.withoutCall(type("internal.transport.TlsTransport"), "discardPending", "release"),
				Mutation.withoutCall(type("internal.transport.TlsTransport"), "shutdownOutput", "sendCloseNotify"),
				Mutation.callReturns(type("internal.transport.TlsTransport"), "isLastWord", "isAlert", 0),
				Mutation.withoutCall(HandshakeGate.class, "end", "run"),
				// What a thread does that waits in a handler
				Mutation.withoutCall(TcpConnection.class, "prepareReplies", "postponeSilence"),
				Mutation.withoutCall(BoundWait.class, "awaitBound", "promoteNewLeader"),
				Mutation.callReturns(HandleSet.class, "await", "getAsBoolean", 0),
				Mutation.withoutCall(BoundWait.class, "lead", "wakeBy"),
				Mutation.callReturns(BoundWait.class, "giveOut", "release", 1),
				Mutation.callReturns(BoundWait.class, "giveOut", "keepPlace", 1),
				Mutation.withoutCall(FramedConnection.class, "readBound", "keepMessage"),
				// Ends
				Mutation.withoutCall(Acceptor.class, "acceptAll", "closeByOwner"),
				Mutation.withoutCall(CloseSequence.class, "of", "failLater"),
				Mutation.withoutCall(type("internal.promotion.ThreadSupply"), "ended", "decrementAndGet"));
	}

	private static Class<?> type(String name) {
		try {
			return Class.forName("org.leaderfollowers." + name, false, EngineSimulationTests.class.getClassLoader());
		}
		catch (ClassNotFoundException ex) {
			throw new IllegalArgumentException(ex);
		}
	}

	/** Runs seeds in several threads, each with a copy of the engine. */
	private static void run(long from, long count) throws Exception {
		long began = System.nanoTime();
		AtomicLong next = new AtomicLong(from);
		AtomicLong steps = new AtomicLong();
		AtomicLongArray counts = new AtomicLongArray(Counted.values().length);
		Callable<@Nullable Result> worker = () -> {
			Simulation simulation = new Simulation(WORKLOAD);
			for (long seed = next.getAndIncrement(); seed < from + count; seed = next.getAndIncrement()) {
				Result result = simulation.run(seed, false);
				steps.addAndGet(result.steps());
				for (Counted each : Counted.values()) {
					counts.addAndGet(each.ordinal(), result.counts()[each.ordinal()]);
				}
				if (result.violation() != null) {
					next.set(from + count);
					return simulation.run(seed, true);
				}
			}
			return null;
		};
		ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
		try {
			for (Future<@Nullable Result> each : workers.invokeAll(List.of(worker, worker))) {
				Result failed = each.get();
				if (failed != null) {
					fail(describe(failed));
				}
			}
		}
		finally {
			workers.shutdownNow();
		}
		System.out.printf("%,d simulated runs, %,d scheduling points, %,d s: %s%n", count, steps.get(),
				(System.nanoTime() - began) / 1_000_000_000,
				Arrays.stream(Counted.values())
					.map((each) -> "%,d %s".formatted(counts.get(each.ordinal()), each))
					.collect(Collectors.joining(", ")));
	}

	private static String describe(Result failed) {
		String trace = failed.trace();
		return """
				seed %d: %s
				Replay it: ./mvnw test -pl lf-core -Dtest=EngineSimulationTests#seedIsTraced -Dsimulation.seed=%d
				The last steps:
				%s""".formatted(failed.seed(),
				Objects.requireNonNullElse(failed.violation(), "does not fail again, so it is not deterministic"),
				failed.seed(), trace.substring(Math.max(0, trace.length() - 20_000)));
	}

}
