package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
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
 * Each node tells the others of its lease, and learns of theirs.
 * <p>
 * A message is a task for the member of its node, which a pool of threads of Hazelcast
 * runs, never a thread of a partition. Hazelcast sends a task again only if it has not
 * run, and drops it as soon as the member has left.
 */
final class HazelcastClusterEngine implements ClusterEngine {

	private static final Log logger = LogFactory.getLog(HazelcastClusterEngine.class);

	private static final byte[] RECEIVED = {};

	private final HazelcastInstance member;

	private final String key;

	private final IMap<String, byte[]> values;

	/**
	 * The leases of all nodes by identifier, as far as they have told this one. Not in a
	 * map of Hazelcast: a member that is suspended would keep others from renewing.
	 */
	private final Map<String, HazelcastLease> leases = new ConcurrentHashMap<>();

	private final IExecutorService messages;

	private final Duration answerTimeout;

	private final Executor threads = threads();

	private volatile @Nullable Running running;

	/**
	 * Creates an engine that has not started yet.
	 * @param member a member of the cluster, which the application shuts down
	 * @param cluster the name of the cluster of nodes, for those that share the member
	 * @param answerTimeout how long to wait for members that may be suspended
	 */
	HazelcastClusterEngine(HazelcastInstance member, String cluster, Duration answerTimeout) {
		if (!(member.getLocalEndpoint() instanceof Member)) {
			throw new IllegalStateException("The Hazelcast instance '" + member.getName()
					+ "' is a client. A node must be a member of the cluster: configure an embedded member, "
					+ "or set 'lf.cluster.engine' to 'redis'.");
		}
		this.member = member;
		this.key = "lf:" + cluster;
		this.values = member.getMap(this.key);
		this.messages = member.getExecutorService(this.key);
		this.answerTimeout = answerTimeout;
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
		this.running = new Running(id, receiver);
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
		this.leases.remove(stopping.id);
		attempt(() -> tell(HazelcastLease.of(stopping.id, new byte[0], Duration.ZERO))).handle((told, failure) -> null)
			.join();
	}

	/**
	 * With a processor for each key, because its backup depends on what the owner has
	 * found.
	 */
	@Override
	public Map<String, CompletableFuture<byte @Nullable []>> touch(Collection<String> keys, Duration timeToLive) {
		Map<String, CompletableFuture<byte @Nullable []>> touched = new LinkedHashMap<>();
		for (String each : keys) {
			touched.put(each, attempt(() -> call(this.values.submitToKey(each, new HazelcastTouch(timeToLive)))));
		}
		return touched;
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
	public CompletableFuture<Long> renew(byte[] description, Duration duration) {
		return attempt(() -> {
			Cluster cluster = this.member.getCluster();
			HazelcastLease lease = HazelcastLease.of(running().id, description, duration);
			this.leases.put(lease.id(), lease);
			// Before the others are told, which may take a while.
			long now = cluster.getClusterTime();
			return tell(lease).thenApplyAsync((told) -> now, this.threads);
		});
	}

	/**
	 * Tells all nodes of a lease of this one, and learns of theirs.
	 * @return completed when all members have answered or left, or soon: the lease of a
	 * node does not depend on others
	 */
	private CompletableFuture<Void> tell(HazelcastLease lease) {
		byte[] content = lease.encode();
		List<CompletableFuture<Void>> told = new ArrayList<>();
		for (Member each : this.member.getCluster().getMembers()) {
			if (!each.localMember()) {
				told.add(call(submit(new HazelcastMessage(this.key, "", content), each)).thenAccept((answer) -> {
					if (answer != null && answer.length > 0) {
						learn(answer);
					}
				}).exceptionally((failure) -> null));
			}
		}
		return CompletableFuture.allOf(told.toArray(CompletableFuture[]::new))
			.completeOnTimeout(null, this.answerTimeout.toMillis(), TimeUnit.MILLISECONDS);
	}

	/**
	 * Learns of the lease of another node.
	 * @return the lease of this node, nothing if it has none, or {@code null} if it does
	 * not run
	 */
	byte @Nullable [] exchange(byte[] lease) {
		Running node = this.running;
		if (node == null) {
			return null;
		}
		learn(lease);
		HazelcastLease own = this.leases.get(node.id);
		return (own != null) ? own.encode() : RECEIVED;
	}

	private void learn(byte[] content) {
		HazelcastLease lease = HazelcastLease.decode(content);
		this.leases.put(lease.id(), lease);
	}

	@Override
	public CompletableFuture<Map<String, byte[]>> nodes() {
		return attempt(() -> {
			Set<String> members = new HashSet<>();
			this.member.getCluster().getMembers().forEach((each) -> members.add(address(each)));
			this.leases.values().removeIf(HazelcastLease::isExpired);
			Map<String, byte[]> descriptions = new LinkedHashMap<>();
			this.leases.forEach((id, lease) -> {
				if (members.contains(address(id))) {
					descriptions.put(id, lease.description());
				}
			});
			return CompletableFuture.completedFuture(descriptions);
		});
	}

	@Override
	public CompletableFuture<Void> send(String node, byte[] message) {
		return attempt(() -> {
			String address = address(node);
			for (Member each : this.member.getCluster().getMembers()) {
				if (address(each).equals(address)) {
					return call(submit(new HazelcastMessage(this.key, node, message), each)).thenAccept((received) -> {
						if (received == null) {
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
	private CompletionStage<byte @Nullable []> submit(HazelcastMessage message, Member receiver) {
		return (CompletionStage<byte @Nullable []>) (Object) this.messages.submitToMember(message, receiver);
	}

	/**
	 * Passes a message on to the node.
	 * @return {@code null} if this is not the node, or does not run
	 */
	byte @Nullable [] receive(String node, byte[] message) {
		Running receiving = this.running;
		if (receiving == null || !receiving.id.equals(node)) {
			return null;
		}
		try {
			receiving.receiver.receive(message);
		}
		catch (Throwable ex) {
			logger.error("A message of another node has failed", ex);
		}
		return RECEIVED;
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

	/** The address of the member of a node, which outlives a split. */
	private static String address(String node) {
		return node.substring(node.lastIndexOf('@') + 1, node.lastIndexOf('/'));
	}

	private static NodeGoneException gone(String node) {
		return new NodeGoneException(node);
	}

	/** Hazelcast throws some failures instead of failing the future. */
	private static <T extends @Nullable Object> CompletableFuture<T> attempt(Supplier<CompletableFuture<T>> call) {
		try {
			return call.get();
		}
		catch (RuntimeException | Error ex) {
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

	/** The time between start and stop. */
	private final class Running {

		private final String id;

		private final Receiver receiver;

		private final UUID lifecycleListener;

		private final UUID membershipListener;

		Running(String id, Receiver receiver) {
			this.id = id;
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
