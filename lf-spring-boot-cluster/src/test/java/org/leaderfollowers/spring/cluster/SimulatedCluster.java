package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.session.SessionEntry;

/**
 * An engine of a cluster in one thread, on a clock of its own. Every operation waits in a
 * queue, from which a seeded generator takes the next one: so requests, answers and
 * messages overtake each other in every way. It can be split and lose messages, answers
 * and data.
 */
final class SimulatedCluster {

	/** How far, and how long, a process that was suspended is behind. */
	private static final Duration BEHIND = Duration.ofSeconds(8);

	final Random random;

	private final List<Runnable> queue = new ArrayList<>();

	/** The data of each side of the cluster; there is one side unless it is split. */
	private final List<Map<String, byte[]>> sides = new ArrayList<>(List.of(new HashMap<>()));

	private final Map<String, Node> nodes = new LinkedHashMap<>();

	private final List<Map<String, Lease>> leases = new ArrayList<>(List.of(new LinkedHashMap<>()));

	/** In nanoseconds. */
	long now = Duration.ofDays(1).toNanos();

	/** When a message must not be executed any more, in nanoseconds. */
	final Map<String, Long> deadlines = new HashMap<>();

	/** Whether a node executes what another one has sent. */
	boolean receives;

	/** How many requests arrived after their deadlines. */
	int late;

	/** In percent. */
	int lossOfMessages;

	/** In percent. */
	int lossOfAnswers;

	/** In percent. */
	int duplicates;

	private record Lease(byte[] description, long end) {
	}

	SimulatedCluster(long seed) {
		this.random = new Random(seed);
	}

	Node node() {
		return new Node();
	}

	private boolean chance(int percent) {
		return this.random.nextInt(100) < percent;
	}

	/** Takes one operation that waits. Returns whether there was one. */
	boolean step() {
		if (this.queue.isEmpty()) {
			return false;
		}
		this.queue.remove(this.random.nextInt(this.queue.size())).run();
		return true;
	}

	void settle() {
		for (int steps = 0; step(); steps++) {
			if (steps > 1_000_000) {
				throw new AssertionError("The cluster does not come to rest");
			}
		}
	}

	/** A node sends a message to another one. */
	void sends(ByteBuffer message, Duration timeout) {
		this.deadlines.put(StandardCharsets.UTF_8.decode(message.duplicate()).toString(), this.now + timeout.toNanos());
	}

	/** Splits the cluster: each half has all the data, as far as it was there. */
	void split() {
		this.sides.add(new HashMap<>(this.sides.get(0)));
		this.leases.add(new LinkedHashMap<>(this.leases.get(0)));
		this.nodes.values().forEach((node) -> node.side = this.random.nextInt(2));
	}

	/** Heals a split: of each key, either value survives. */
	void heal() {
		if (this.sides.size() > 1) {
			Map<String, byte[]> other = this.sides.remove(1);
			Map<String, byte[]> merged = this.sides.get(0);
			for (String key : List.copyOf(merged.keySet())) {
				if (!other.containsKey(key) && this.random.nextBoolean()) {
					merged.remove(key);
				}
			}
			other.forEach((key, value) -> {
				if (this.random.nextBoolean()) {
					merged.put(key, value);
				}
			});
			this.leases.get(0).putAll(this.leases.remove(1));
			this.nodes.values().forEach((node) -> {
				node.side = 0;
				node.receiver.healed();
			});
		}
	}

	/** Returns what the engine has for a name, while it is not split. */
	@Nullable SessionEntry entry(String name) {
		return WireForm.entryOrNull(name, this.sides.get(0).get(name));
	}

	/** Forgets a part of the data. */
	void loseData() {
		this.sides.get(0).keySet().removeIf((key) -> this.random.nextBoolean());
		this.nodes.values().forEach((node) -> node.receiver.healed());
	}

	/** The connection of one node to the cluster. */
	final class Node implements ClusterEngine {

		private String id = "";

		private Receiver receiver;

		int side;

		/** Whether the engine does not answer this node. */
		boolean down;

		/** Whether the process stands still: it neither sends nor receives nor runs. */
		boolean paused;

		private long pausedSince;

		/** How many nanoseconds too early the time is that this node hears of. */
		private long behind;

		private long behindUntil;

		private <T extends @Nullable Object> CompletableFuture<T> later(Supplier<T> operation) {
			CompletableFuture<T> future = new CompletableFuture<>();
			if (this.down) {
				SimulatedCluster.this.queue
					.add(() -> future.completeExceptionally(new IllegalStateException("The engine is down")));
				return future;
			}
			SimulatedCluster.this.queue.add(() -> {
				T result;
				try {
					result = operation.get();
				}
				catch (RuntimeException ex) {
					SimulatedCluster.this.queue.add(() -> future.completeExceptionally(ex));
					return;
				}
				boolean lost = chance(SimulatedCluster.this.lossOfAnswers);
				answer(() -> {
					if (lost) {
						future.completeExceptionally(new IllegalStateException("The answer was lost"));
					}
					else {
						future.complete(result);
					}
				});
			});
			return future;
		}

		/** A process that stands still gets its answers when it goes on. */
		private void answer(Runnable answer) {
			SimulatedCluster.this.queue.add(() -> {
				if (this.paused) {
					this.kept.add(answer);
				}
				else {
					answer.run();
				}
			});
		}

		private final List<Runnable> kept = new ArrayList<>();

		/** Suspends the process. */
		void pause() {
			this.paused = true;
			this.pausedSince = SimulatedCluster.this.now;
		}

		/** The process hears of the time when it was suspended, for some seconds. */
		void resume() {
			this.paused = false;
			this.behind = Math.min(SimulatedCluster.this.now - this.pausedSince, BEHIND.toNanos());
			this.behindUntil = SimulatedCluster.this.now + BEHIND.toNanos();
			SimulatedCluster.this.queue.addAll(this.kept);
			this.kept.clear();
		}

		private Map<String, byte[]> values() {
			return SimulatedCluster.this.sides.get(this.side);
		}

		private Map<String, Lease> leases() {
			return SimulatedCluster.this.leases.get(this.side);
		}

		@Override
		public String name() {
			return "The simulation";
		}

		@Override
		public String start(String node, Receiver ofNode) {
			this.id = node + "@" + SimulatedCluster.this.nodes.size();
			this.receiver = ofNode;
			SimulatedCluster.this.nodes.put(this.id, this);
			return this.id;
		}

		@Override
		public void stop() {
			SimulatedCluster.this.nodes.remove(this.id);
			SimulatedCluster.this.leases.forEach((one) -> one.remove(this.id));
		}

		/** Ends the process without a farewell. */
		void kill() {
			SimulatedCluster.this.nodes.remove(this.id);
		}

		@Override
		public Map<String, CompletableFuture<byte @Nullable []>> touch(Collection<String> keys, Duration timeToLive) {
			Map<String, CompletableFuture<byte @Nullable []>> found = new LinkedHashMap<>();
			for (String key : keys) {
				found.put(key, later(() -> values().get(key)));
			}
			return found;
		}

		@Override
		public CompletableFuture<byte @Nullable []> get(String key) {
			return later(() -> values().get(key));
		}

		@Override
		public CompletableFuture<Boolean> compareAndSet(String key, byte @Nullable [] expected,
				byte @Nullable [] update, Duration timeToLive) {
			return later(() -> {
				if (!Arrays.equals(values().get(key), expected)) {
					return false;
				}
				if (update != null) {
					values().put(key, update);
				}
				else {
					values().remove(key);
				}
				return true;
			});
		}

		@Override
		public CompletableFuture<Long> renew(byte[] description, Duration lease) {
			return later(() -> {
				leases().put(this.id, new Lease(description, SimulatedCluster.this.now + lease.toNanos()));
				long now = SimulatedCluster.this.now;
				return (now - ((now < this.behindUntil) ? this.behind : 0)) / 1_000_000;
			});
		}

		@Override
		public CompletableFuture<Map<String, byte[]>> nodes() {
			return later(() -> {
				Map<String, byte[]> live = new LinkedHashMap<>();
				leases().forEach((node, lease) -> {
					if (lease.end > SimulatedCluster.this.now) {
						live.put(node, lease.description);
					}
				});
				return live;
			});
		}

		@Override
		public CompletableFuture<Void> send(String node, byte[] message) {
			return later(() -> {
				Node target = SimulatedCluster.this.nodes.get(node);
				if (target == null) {
					throw new NodeGoneException(node);
				}
				int copies = chance(SimulatedCluster.this.lossOfMessages) || target.side != this.side || target.down ? 0
						: chance(SimulatedCluster.this.duplicates) ? 2 : 1;
				for (int i = 0; i < copies; i++) {
					target.answer(() -> {
						if (WireForm.message(message).deadline() < SimulatedCluster.this.now / 1_000_000) {
							SimulatedCluster.this.late++;
						}
						// After the reply that a session has moved, this node may execute
						// its own command, which the clock of the process limits.
						SimulatedCluster.this.receives = !(WireForm.message(message) instanceof NodeMessage.Reply);
						target.receiver.receive(message);
						SimulatedCluster.this.receives = false;
					});
				}
				return null;
			});
		}

	}

}
