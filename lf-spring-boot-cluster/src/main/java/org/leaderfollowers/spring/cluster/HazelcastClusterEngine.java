package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

import com.hazelcast.cluster.Cluster;
import com.hazelcast.cluster.Member;
import com.hazelcast.cluster.MembershipAdapter;
import com.hazelcast.cluster.MembershipEvent;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.core.IExecutorService;
import com.hazelcast.core.LifecycleEvent.LifecycleState;
import com.hazelcast.map.IMap;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * An embedded member of a Hazelcast cluster.
 * <p>
 * The values are in a map, changed by entry processors on the member that owns an entry.
 * Every member that owns entries therefore needs this module on its class path. A value
 * has one backup, unless the application configures the map, and stays when one member
 * ends. After a split, Hazelcast's default merge policy ({@code PutIfAbsentMergePolicy})
 * keeps the values of the larger side. It adds the others with the rest of their
 * lifetime. Only members of the smaller side can find other values than before, and
 * exactly these learn of the healing.
 * <p>
 * A message is a task for the member of its node, which a pool of threads of Hazelcast
 * runs, never a thread of a partition. Hazelcast sends a task again only if it has not
 * run, and drops it as soon as the member has left.
 */
final class HazelcastClusterEngine implements ClusterEngine {

	private static final Log logger = LogFactory.getLog(HazelcastClusterEngine.class);

	private static final Duration STOP_TIMEOUT = Duration.ofSeconds(2);

	private final HazelcastInstance member;

	private final String key;

	private final IMap<String, byte[]> values;

	/** The nodes by the addresses of their members, which outlive a split. */
	private final IMap<String, byte[]> nodes;

	private final IExecutorService messages;

	private final Executor threads = threads();

	private volatile @Nullable Running running;

	/**
	 * Creates an engine that has not started yet.
	 * @param member a member of the cluster, which the application shuts down
	 * @param cluster the name of the cluster of nodes, for those that share the member
	 */
	HazelcastClusterEngine(HazelcastInstance member, String cluster) {
		if (!(member.getLocalEndpoint() instanceof Member)) {
			throw new IllegalStateException("The Hazelcast instance '" + member.getName()
					+ "' is a client. A node must be a member of the cluster: configure an embedded member, "
					+ "or set 'lf.cluster.engine' to 'redis'.");
		}
		this.member = member;
		this.key = "lf:" + cluster;
		this.values = member.getMap(this.key);
		this.nodes = member.getMap(this.key + ":nodes");
		this.messages = member.getExecutorService(this.key);
	}

	/** They end when they are idle, so that nobody has to stop them. */
	private static Executor threads() {
		ThreadPoolExecutor threads = new ThreadPoolExecutor(2, 2, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
				(task) -> {
					Thread thread = new Thread(task, "lf-hazelcast");
					thread.setDaemon(true);
					return thread;
				});
		threads.allowCoreThreadTimeOut(true);
		return threads;
	}

	@Override
	public String name() {
		return "Hazelcast";
	}

	@Override
	public String start(String node, Receiver receiver) {
		String address = address(this.member.getCluster().getLocalMember());
		String id = node + "@" + address + "/" + UUID.randomUUID();
		if (this.member.getUserContext().putIfAbsent(this.key, this) != null) {
			throw new IllegalStateException("Another node uses the Hazelcast member '" + this.member.getName()
					+ "' in the cluster '" + this.key + "'. Set another 'lf.cluster.name', or create another member.");
		}
		this.running = new Running(id, address, receiver);
		return id;
	}

	@Override
	public void stop() {
		Running stopping = this.running;
		if (stopping == null) {
			return;
		}
		this.running = null;
		if (!this.member.getLifecycleService().isRunning()) {
			return;
		}
		stopping.end();
		this.member.getUserContext().remove(this.key, this);
		try {
			attempt(() -> call(this.nodes.removeAsync(stopping.address))).get(STOP_TIMEOUT.toMillis(),
					TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException | TimeoutException ex) {
			logger.debug("Cannot withdraw the lease of this node. It expires", ex);
		}
	}

	/**
	 * With a processor for each key, because its backup depends on what the owner has
	 * found.
	 */
	@Override
	public CompletableFuture<Map<String, byte[]>> touch(Collection<String> keys, Duration timeToLive) {
		return attempt(() -> {
			Map<String, CompletableFuture<byte[]>> touched = new LinkedHashMap<>();
			for (String each : keys) {
				touched.put(each, call(this.values.submitToKey(each, new HazelcastTouch(timeToLive))));
			}
			return present(touched);
		});
	}

	@Override
	public CompletableFuture<byte @Nullable []> get(String key) {
		return attempt(() -> call(this.values.getAsync(key)));
	}

	/**
	 * If the member that has replaced the value leaves before its answer arrives,
	 * Hazelcast runs the processor again on another one, where the value is no longer the
	 * expected one.
	 */
	@Override
	public CompletableFuture<Boolean> compareAndSet(String key, byte @Nullable [] expected, byte @Nullable [] update,
			Duration timeToLive) {
		return attempt(() -> {
			Cluster cluster = this.member.getCluster();
			Set<Member> before = cluster.getMembers();
			return call(this.values.submitToKey(key, new HazelcastCompareAndSet(expected, update, timeToLive)))
				.thenApply((replaced) -> {
					if (!replaced && !cluster.getMembers().containsAll(before)) {
						throw new IllegalStateException(
								"A member has left meanwhile, so the value of '" + key + "' may have been replaced.");
					}
					return replaced;
				});
		});
	}

	@Override
	public CompletableFuture<Long> renew(byte[] description, Duration lease) {
		return attempt(() -> {
			Running node = running();
			byte[] id = node.id.getBytes(StandardCharsets.ISO_8859_1);
			byte[] value = ByteBuffer.allocate(id.length + 1 + description.length)
				.put(id)
				.put((byte) 0)
				.put(description)
				.array();
			return call(
					this.nodes.setAsync(node.address, value, HazelcastCompareAndSet.seconds(lease), TimeUnit.SECONDS))
				.thenApply((done) -> this.member.getCluster().getClusterTime());
		});
	}

	@Override
	public CompletableFuture<Map<String, byte[]>> nodes() {
		return attempt(() -> {
			Map<String, CompletableFuture<byte[]>> found = new LinkedHashMap<>();
			for (Member each : this.member.getCluster().getMembers()) {
				found.put(address(each), call(this.nodes.getAsync(address(each))));
			}
			return present(found).thenApply((byAddress) -> {
				Map<String, byte[]> descriptions = new LinkedHashMap<>();
				for (byte[] value : byAddress.values()) {
					int end = 0;
					while (value[end] != 0) {
						end++;
					}
					descriptions.put(new String(value, 0, end, StandardCharsets.ISO_8859_1),
							Arrays.copyOfRange(value, end + 1, value.length));
				}
				return descriptions;
			});
		});
	}

	@Override
	public CompletableFuture<Void> send(String node, byte[] message) {
		return attempt(() -> {
			String address = node.substring(node.lastIndexOf('@') + 1, node.lastIndexOf('/'));
			for (Member each : this.member.getCluster().getMembers()) {
				if (address(each).equals(address)) {
					return call(submit(new HazelcastMessage(this.key, node, message), each)).thenAccept((received) -> {
						if (!received) {
							throw gone(node);
						}
					});
				}
			}
			throw gone(node);
		});
	}

	/**
	 * Hazelcast returns a future that is a stage, too, but does not say so. Its callbacks
	 * would need a thread for each message on small machines.
	 */
	@SuppressWarnings("unchecked")
	private CompletionStage<Boolean> submit(HazelcastMessage message, Member receiver) {
		return (CompletionStage<Boolean>) this.messages.submitToMember(message, receiver);
	}

	/**
	 * Passes a message on to the node.
	 * @return whether this is the node, and runs
	 */
	boolean receive(String node, byte[] message) {
		Running receiving = this.running;
		if (receiving == null || !receiving.id.equals(node)) {
			return false;
		}
		try {
			receiving.receiver.receive(message);
		}
		catch (RuntimeException ex) {
			logger.error("A message of another node has failed", ex);
		}
		return true;
	}

	private Running running() {
		Running node = this.running;
		if (node == null) {
			throw new IllegalStateException("The node has not started, or has stopped.");
		}
		return node;
	}

	private static String address(Member member) {
		return member.getAddress().toString();
	}

	private static NodeGoneException gone(String node) {
		return new NodeGoneException(node);
	}

	/** Hazelcast throws some failures instead of failing the future. */
	private static <T extends @Nullable Object> CompletableFuture<T> attempt(Supplier<CompletableFuture<T>> call) {
		try {
			return call.get();
		}
		catch (RuntimeException ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	/**
	 * Continues on threads of this engine: those of Hazelcast are threads of partitions,
	 * or new ones for each call on small machines.
	 */
	private <T extends @Nullable Object> CompletableFuture<T> call(CompletionStage<T> stage) {
		CompletableFuture<T> future = new CompletableFuture<>();
		stage.whenCompleteAsync((result, failure) -> {
			if (failure != null) {
				future.completeExceptionally(failure);
			}
			else {
				future.complete(result);
			}
		}, this.threads);
		return future;
	}

	private static CompletableFuture<Map<String, byte[]>> present(Map<String, CompletableFuture<byte[]>> values) {
		return CompletableFuture.allOf(values.values().toArray(CompletableFuture[]::new)).thenApply((done) -> {
			Map<String, byte[]> present = new LinkedHashMap<>();
			values.forEach((key, future) -> {
				byte[] value = future.join();
				if (value != null) {
					present.put(key, value);
				}
			});
			return present;
		});
	}

	/** The time between start and stop. */
	private final class Running {

		private final String id;

		private final String address;

		private final Receiver receiver;

		private final UUID lifecycleListener;

		private final UUID membershipListener;

		Running(String id, String address, Receiver receiver) {
			this.id = id;
			this.address = address;
			this.receiver = receiver;
			HazelcastInstance member = HazelcastClusterEngine.this.member;
			this.lifecycleListener = member.getLifecycleService().addLifecycleListener((event) -> {
				if (event.getState() == LifecycleState.MERGED) {
					receiver.healed();
				}
			});
			// If more members leave than a value has backups, the value is lost.
			this.membershipListener = member.getCluster().addMembershipListener(new MembershipAdapter() {

				@Override
				public void memberRemoved(MembershipEvent event) {
					receiver.healed();
				}

			});
		}

		void end() {
			HazelcastInstance member = HazelcastClusterEngine.this.member;
			member.getLifecycleService().removeLifecycleListener(this.lifecycleListener);
			member.getCluster().removeMembershipListener(this.membershipListener);
		}

	}

}
