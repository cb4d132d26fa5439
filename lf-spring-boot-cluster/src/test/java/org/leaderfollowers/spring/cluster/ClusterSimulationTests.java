package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.session.SessionEntry;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Simulates nodes, devices and an engine that fails in every way, in one thread and by a
 * seed. Everything but the engine is the real code. A seed that fails replays exactly:
 * put it into {@link #FIRST_SEED}. The steps of a run are limited, but not its time: it
 * only calculates, and a busy machine may take long.
 */
class ClusterSimulationTests {

	private static final int FIRST_SEED = 1;

	private static final int SEEDS = Integer.getInteger("lf.cluster.simulation.seeds", 3_000);

	private static final List<String> NAMES = List.of("4711", "4712", "4713");

	private static final Logger logger = (Logger) LoggerFactory.getLogger(ClusterSessionDirectory.class);

	@BeforeAll
	static void beSilent() {
		logger.setLevel(Level.OFF);
	}

	@AfterAll
	static void speak() {
		logger.setLevel(null);
	}

	@Test
	void whateverHappensEachNameHasOneHolderAfterwardsAndNothingIsDoneTwice() {
		Map<String, Integer> seen = new LinkedHashMap<>();
		for (int seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
			try {
				Trial trial = new Trial(seed);
				trial.run(60);
				trial.check();
				trial.seen.merge("too late", trial.cluster.late, Integer::sum);
				trial.seen.forEach((what, often) -> seen.merge(what, often, Integer::sum));
			}
			catch (Throwable ex) {
				throw new AssertionError("Seed " + seed + ": " + ex.getMessage(), ex);
			}
		}
		assertThat(seen).as("what was tried")
			.containsKeys("SENT", "GONE", "UNREACHABLE", "UNKNOWN", "answered", "failed", "taken over", "split",
					"killed", "paused", "down", "data lost", "too late");
	}

	@Test
	void aLoginDuringAShortSilenceOfTheEngineIsRegisteredSoon() {
		SimulatedCluster cluster = new SimulatedCluster(1);
		SimulatedNode node = new SimulatedNode(cluster, "node", cluster::step);
		node.start();
		node.renew();
		cluster.settle();
		node.engine.down = true;
		node.sessions.bind(new SimulatedDevice(), "4711");
		node.engine.down = false;
		assertThat(cluster.entry("4711")).isNull();
		// What is due soon, but no comparison of the regular kind.
		node.renew();
		cluster.settle();
		assertThat(cluster.entry("4711")).isEqualTo(node.sessions.get("4711").orElseThrow());
	}

	@Test
	void aDirectoryIsStartedOnce() {
		SimulatedNode node = new SimulatedNode(new SimulatedCluster(1), "node", () -> false);
		node.start();
		assertThatThrownBy(node::start).rootCause()
			.isInstanceOf(IllegalStateException.class)
			.hasMessageContaining("a process is one node");
		Thread.interrupted();
	}

	/** A device and what is known of its login. */
	private record Login(SimulatedNode node, String name, SimulatedDevice device, SessionEntry entry) {
	}

	private static final class Trial {

		private final SimulatedCluster cluster;

		private final List<SimulatedNode> nodes = new ArrayList<>();

		private final List<Login> logins = new ArrayList<>();

		private final List<SimulatedDevice> devices = new ArrayList<>();

		private final Map<String, CompletableFuture<?>> commands = new HashMap<>();

		private final Map<String, Integer> seen = new LinkedHashMap<>();

		/** Commands that were executed after their deadlines. */
		private final List<String> executedLate = new ArrayList<>();

		/** Names that a process wanted when it died. It may have got them. */
		private final Set<String> unfinished = new HashSet<>();

		private int depth;

		private int commandCount;

		private boolean isSplit;

		Trial(long seed) {
			this.cluster = new SimulatedCluster(seed);
			for (int i = 0; i < 3; i++) {
				addNode();
			}
			this.nodes.forEach(SimulatedNode::renew);
			this.cluster.settle();
			this.cluster.lossOfMessages = this.cluster.random.nextInt(3) * 10;
			this.cluster.lossOfAnswers = this.cluster.random.nextInt(3) * 5;
			this.cluster.duplicates = this.cluster.random.nextInt(3) * 20;
		}

		private SimulatedNode addNode() {
			SimulatedNode node = new SimulatedNode(this.cluster, "node" + this.nodes.size(), this::otherWork);
			this.nodes.add(node);
			node.start();
			return node;
		}

		private void note(String what) {
			this.seen.merge(what, 1, Integer::sum);
		}

		/** What happens while a login waits: the engine works, and others act. */
		private boolean otherWork() {
			if (this.depth < 3 && this.cluster.random.nextInt(10) == 0) {
				act();
				return true;
			}
			if (this.cluster.step()) {
				return true;
			}
			// All that is left to wait for is a process that stands still.
			List<SimulatedNode> still = this.nodes.stream().filter((node) -> node.engine.paused && !node.dead).toList();
			still.forEach(this::resume);
			return !still.isEmpty();
		}

		void run(int actions) {
			for (int i = 0; i < actions; i++) {
				act();
				for (int steps = this.cluster.random.nextInt(12); steps > 0; steps--) {
					this.cluster.step();
				}
			}
		}

		private void act() {
			this.depth++;
			try {
				SimulatedNode node = this.nodes.get(this.cluster.random.nextInt(this.nodes.size()));
				String name = NAMES.get(this.cluster.random.nextInt(NAMES.size()));
				int kind = this.cluster.random.nextInt(100);
				if (kind < 30) {
					login(node, name);
				}
				else if (kind < 65) {
					command(node, name);
				}
				else if (kind < 72) {
					leave();
				}
				else if (kind < 85) {
					pass(Duration.ofMillis(this.cluster.random.nextInt(4_000)));
				}
				else if (kind < 89) {
					node.verify();
				}
				else {
					fail(node, kind);
				}
			}
			finally {
				this.depth--;
			}
		}

		private void login(SimulatedNode node, String name) {
			if (node.works()) {
				SimulatedDevice device = new SimulatedDevice();
				device.observer = (command) -> {
					if (this.cluster.receives
							&& this.cluster.now > this.cluster.deadlines.getOrDefault(command, Long.MAX_VALUE)) {
						this.executedLate.add(command);
					}
				};
				this.devices.add(device);
				try {
					this.logins.add(new Login(node, name, device, node.sessions.bind(device, name)));
					if (node.dead) {
						device.close(CloseReason.IO_ERROR);
					}
				}
				catch (SimulatedNode.DeadException ex) {
					this.unfinished.add(name);
					device.close(CloseReason.IO_ERROR);
				}
			}
		}

		private void leave() {
			if (!this.logins.isEmpty()) {
				Login login = this.logins.get(this.cluster.random.nextInt(this.logins.size()));
				if (login.node.works()) {
					login.device.close(CloseReason.PEER);
				}
			}
		}

		private void command(SimulatedNode node, String name) {
			if (!node.works()) {
				return;
			}
			String command = "command " + this.commandCount++;
			if (this.cluster.random.nextBoolean()) {
				String message = "from %s to %s".formatted(node.sessions.directory().node(), name);
				CompletableFuture<Delivery> sent = node.sessions.sendAsync(name, command);
				this.commands.put(command, sent);
				sent.thenAccept((delivery) -> note(delivery.name()));
			}
			else {
				CompletableFuture<String> answer = node.sessions.exchangeAsync(name, command, String.class,
						SimulatedNode.TIMEOUT);
				this.commands.put(command, answer);
				answer.whenComplete((reply, failure) -> {
					note((failure == null) ? "answered" : "failed");
					if (failure == null) {
						assertThat(reply).isEqualTo(command);
					}
				});
			}
		}

		/** Time passes, in which the nodes renew their leases. */
		private void pass(Duration duration) {
			this.cluster.now += duration.toNanos();
			this.nodes.stream().filter(SimulatedNode::works).forEach(SimulatedNode::renew);
		}

		private void fail(SimulatedNode node, int kind) {
			switch (kind) {
				case 89, 90 -> {
					if (!this.isSplit && !node.dead) {
						note("split");
						this.cluster.split();
						this.isSplit = true;
					}
				}
				case 91, 92 -> heal();
				case 93 -> kill(node);
				case 94, 95 -> {
					if (node.works()) {
						note("paused");
						node.engine.pause();
					}
				}
				case 96 -> {
					if (this.cluster.random.nextInt(3) == 0) {
						pass(Duration.ofSeconds(this.cluster.random.nextInt(240)));
					}
					resume(node);
				}
				case 97 -> {
					note("down");
					node.engine.down = true;
				}
				case 98 -> {
					node.engine.down = false;
					if (node.works()) {
						node.renew();
					}
				}
				default -> {
					if (!this.isSplit) {
						note("data lost");
						this.cluster.loseData();
					}
				}
			}
		}

		private void heal() {
			if (this.isSplit) {
				this.cluster.heal();
				this.isSplit = false;
			}
		}

		private void resume(SimulatedNode node) {
			if (node.engine.paused && !node.dead) {
				node.engine.resume();
				node.renew();
			}
		}

		private void kill(SimulatedNode node) {
			if (node.works() && this.nodes.stream().filter((one) -> !one.dead).count() > 1) {
				note("killed");
				node.dead = true;
				node.engine.kill();
				node.engine.paused = true;
				this.logins.stream()
					.filter((login) -> login.node == node)
					.forEach((login) -> login.device.close(CloseReason.IO_ERROR));
				addNode().engine.side = this.cluster.random.nextInt(this.isSplit ? 2 : 1);
			}
		}

		/** Everything works again, and every node has compared its sessions. */
		void check() {
			heal();
			this.nodes.forEach(this::resume);
			this.nodes.forEach((node) -> node.engine.down = false);
			this.cluster.lossOfMessages = 0;
			this.cluster.lossOfAnswers = 0;
			for (int round = 0; round < 4; round++) {
				this.cluster.settle();
				pass(SimulatedNode.LEASE.dividedBy(2));
				this.cluster.settle();
				this.nodes.stream().filter(SimulatedNode::works).forEach(SimulatedNode::verify);
			}
			this.cluster.settle();
			for (String name : NAMES) {
				check(name);
			}
			List<String> done = this.devices.stream().flatMap((device) -> device.received.stream()).toList();
			assertThat(done).as("commands that were done").doesNotHaveDuplicates();
			assertThat(this.executedLate).as("commands that were executed after their deadlines").isEmpty();
			this.commands.forEach((command, outcome) -> {
				if (outcome.isDone() && !outcome.isCompletedExceptionally()) {
					Object result = outcome.join();
					boolean promised = result == Delivery.SENT || result instanceof String;
					boolean possible = promised || result == Delivery.UNKNOWN;
					assertThat(done.contains(command)).as("%s, which ended with %s, was done", command, result)
						.isIn(possible, promised);
				}
				else if (outcome.isCompletedExceptionally()) {
					Throwable failure = outcome.handle((result, thrown) -> thrown).join();
					Throwable cause = (failure instanceof CompletionException) ? failure.getCause() : failure;
					assertThat(cause).as("the failure of %s", command).isInstanceOf(ExchangeException.class);
					if (cause instanceof ExchangeRejectedException) {
						assertThat(done).as("commands that were done").doesNotContain(command);
					}
				}
			});
		}

		private void check(String name) {
			List<Login> open = this.logins.stream()
				.filter((login) -> login.name.equals(name) && login.device.isOpen())
				.toList();
			assertThat(open)
				.as("open connections of '%s', held: %s, in the engine: %s", name,
						this.nodes.stream().filter((one) -> !one.dead).map((one) -> one.sessions.held()).toList(),
						this.cluster.entry(name))
				.hasSizeLessThanOrEqualTo(1);
			this.logins.stream()
				.filter((login) -> login.name.equals(name) && login.device.closeReason() == CloseReason.TAKEN_OVER)
				.forEach((login) -> {
					note("taken over");
					if (!this.unfinished.contains(name)) {
						assertThat(later(login))
							.as("logins after %s of %s", login.entry,
									this.logins.stream().filter((other) -> other.name.equals(name)).toList())
							.isNotEmpty();
					}
				});
			for (SimulatedNode node : this.nodes) {
				if (!node.works()) {
					continue;
				}
				String message = "from %s to %s".formatted(node.sessions.directory().node(), name);
				CompletableFuture<Delivery> sent = node.sessions.sendAsync(name, message);
				this.cluster.settle();
				assertThat(sent)
					.as("a message %s, held: %s, in the engine: %s, open: %s, nodes: %s", message,
							this.nodes.stream().filter((one) -> !one.dead).map((one) -> one.sessions.held()).toList(),
							this.cluster.entry(name), open, node.sessions.directory().nodes())
					.isCompletedWithValue(open.isEmpty() ? Delivery.GONE : Delivery.SENT);
				if (!open.isEmpty()) {
					assertThat(open.get(0).device.received).last().isEqualTo(message);
				}
			}
		}

		/** Logins of the same name that prevail over one. */
		private Stream<Login> later(Login login) {
			return this.logins.stream()
				.filter((other) -> other.name.equals(login.name) && other.entry.prevailsOver(login.entry));
		}

	}

}
