package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.spring.cluster.NodeMessage.Broadcast;
import org.leaderfollowers.spring.cluster.NodeMessage.Exchange;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply;
import org.leaderfollowers.spring.cluster.NodeMessage.Send;
import org.leaderfollowers.spring.cluster.NodeMessage.TakenOver;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.session.SessionBroadcast;
import org.leaderfollowers.spring.session.SessionClaim;
import org.leaderfollowers.spring.session.SessionContestedException;
import org.leaderfollowers.spring.session.SessionDirectory;
import org.leaderfollowers.spring.session.SessionEntry;
import org.leaderfollowers.spring.session.SessionHolder;
import org.leaderfollowers.spring.session.SessionNode;
import org.leaderfollowers.spring.session.StaleSessionException;

/**
 * A directory that nodes share by means of a {@link ClusterEngine}.
 * <p>
 * The road of a login: read the entry of the name, make the next one with a higher epoch,
 * replace the former by the latter with one atomic operation, and tell the node of the
 * former. The road of a message: find the entry, here or in the engine, send the message
 * with the epoch of the entry to its node, and wait for the outcome. A node that does not
 * hold the name with exactly this epoch refuses, so an entry that is out of date does no
 * harm, and may be kept to save a round trip.
 * <p>
 * What goes wrong, for example a lost message or a lost entry, is found and corrected by
 * the {@link SessionVerification}.
 */
final class ClusterSessionDirectory implements SessionDirectory, ClusterEngine.Receiver {

	private static final Log logger = LogFactory.getLog(ClusterSessionDirectory.class);

	/** How often a claim is tried again because another one was faster. */
	private static final int CLAIMS = 16;

	private final ClusterEngine engine;

	private final ClusterOptions options;

	private final ClusterNodes nodes;

	private final NodeRequests requests;

	private final EntryCache cache;

	private final ScheduledExecutorService timer;

	private final NodeReceiver.LimitedLog messageLog;

	/** Guarded by this object. */
	private long latestEpoch;

	private @Nullable NodeReceiver receiver;

	private @Nullable SessionVerification verification;

	private @Nullable SessionHolder holder;

	/**
	 * Creates a directory.
	 * @param timer runs what has to be done from time to time, and is shut down with the
	 * directory
	 * @param clock tells the time as {@link System#nanoTime()} does
	 */
	ClusterSessionDirectory(ClusterEngine engine, ClusterOptions options, ScheduledExecutorService timer,
			LongSupplier clock) {
		this.engine = engine;
		this.options = options;
		this.timer = timer;
		this.messageLog = new NodeReceiver.LimitedLog(logger, clock);
		this.nodes = new ClusterNodes(engine, options.lease(), options.timeout(), clock, this::open, this::left,
				this::healed);
		this.requests = new NodeRequests(new NodeOutbox(engine, options.maxOutboundSize()), this.nodes);
		this.cache = new EntryCache(options.maxCachedNames());
	}

	static ClusterSessionDirectory of(ClusterEngine engine, ClusterOptions options) {
		ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, (task) -> {
			Thread thread = new Thread(task, "lf-cluster");
			thread.setDaemon(true);
			return thread;
		});
		timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
		return new ClusterSessionDirectory(engine, options, timer, System::nanoTime);
	}

	@Override
	public void start(SessionHolder ofThisNode) {
		if (this.holder != null) {
			throw new IllegalStateException("The directory of sessions is used already: a process is one node");
		}
		this.holder = ofThisNode;
		this.receiver = new NodeReceiver(this.requests.outbox(), this.nodes, ofThisNode, this.messageLog);
		this.verification = new SessionVerification(this, ofThisNode, this.engine, this.options);
		this.nodes.start(this.engine.start(this.options.nodeName(), this));
		CompletableFuture<Void> joined = renew();
		long third = Math.max(1, this.options.lease().toMillis() / 3);
		this.timer.scheduleAtFixedRate(SessionVerification.guarded(this::renew), third, third, TimeUnit.MILLISECONDS);
		long interval = this.options.verifyInterval().toMillis();
		this.timer.scheduleAtFixedRate(SessionVerification.guarded(this.verification::run), interval, interval,
				TimeUnit.MILLISECONDS);
		// A node that begins to serve should know the others, if they can be reached.
		try {
			joined.get(this.options.timeout().toMillis() * 2, TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException | TimeoutException ex) {
			logger.debug("The first renewal of the lease has failed", ex);
		}
	}

	private CompletableFuture<Void> renew() {
		if (this.receiver != null) {
			this.receiver.forget();
		}
		return this.nodes.renew();
	}

	@Override
	public void stop() {
		this.timer.shutdownNow();
		this.engine.stop();
	}

	private int open() {
		return (this.holder != null) ? this.holder.held().size() : 0;
	}

	// What the engine has for this node

	@Override
	public void receive(byte[] bytes) {
		try {
			NodeMessage message = WireForm.message(bytes);
			if (message instanceof Reply reply) {
				this.requests.receive(reply);
			}
			else if (this.receiver != null) {
				this.receiver.receive(message);
			}
		}
		catch (Throwable ex) {
			this.messageLog.warn("A message of another node could not be read", ex);
		}
	}

	@Override
	public void healed() {
		this.cache.clear();
		this.nodes.look();
		if (this.verification != null) {
			this.verification.run();
		}
	}

	private void left(String node) {
		this.requests.left(node);
	}

	// Nodes

	@Override
	public String node() {
		return this.nodes.self();
	}

	@Override
	public List<SessionNode> nodes() {
		return this.nodes.all();
	}

	@Override
	public @Nullable String problem() {
		return this.nodes.problem();
	}

	// Names

	@Override
	public CompletableFuture<SessionEntry> claim(SessionClaim claim) {
		if (this.nodes.isIsolated()) {
			return CompletableFuture.completedFuture(alone(claim, null));
		}
		return claim(claim, CLAIMS, System.nanoTime() + this.options.timeout().toNanos()).handle((entry, failure) -> {
			Throwable cause = NodeRequests.unwrap(failure);
			if (cause instanceof SessionContestedException contested) {
				throw contested;
			}
			return (cause == null) ? entry : alone(claim, cause);
		});
	}

	/**
	 * Makes an entry that only this node knows, because the engine cannot be reached. The
	 * verification will register it.
	 */
	private SessionEntry alone(SessionClaim claim, @Nullable Throwable failure) {
		if (failure != null) {
			// One line for each login would be a flood; that the lease is not renewed is
			// logged.
			logger.debug("Session '%s' is not registered yet".formatted(claim.name()), failure);
		}
		if (this.verification != null) {
			this.verification.runSoon(this.timer);
		}
		return (failure instanceof UnclearException unclear) ? unclear.entry() : next(null, false, claim);
	}

	/**
	 * Each step ends at the deadline. Otherwise a step that ends later could register an
	 * entry that prevails over the one that this node uses since the deadline.
	 */
	private CompletableFuture<SessionEntry> claim(SessionClaim claim, int attempts, long deadline) {
		String key = claim.name();
		return until(deadline, this.engine.get(key)).thenCompose((bytes) -> {
			SessionEntry previous = WireForm.intactOrNull(key, bytes);
			return isHeld(previous).thenCompose((held) -> {
				SessionEntry next = next(previous, held, claim);
				return until(deadline,
						this.engine.compareAndSet(key, bytes, WireForm.of(next), this.options.entryTimeToLive()))
					.exceptionally((failure) -> {
						throw new UnclearException(next, failure);
					})
					.thenCompose((done) -> done ? CompletableFuture.completedFuture(claimed(previous, next))
							: (attempts > 1) ? claim(claim, attempts - 1, deadline)
									: CompletableFuture.failedFuture(new IllegalStateException(
											"Other claims of the name were faster %d times".formatted(CLAIMS))));
			});
		});
	}

	private CompletableFuture<Boolean> isHeld(@Nullable SessionEntry entry) {
		return (entry != null) ? this.nodes.isLive(entry.node()) : CompletableFuture.completedFuture(false);
	}

	private SessionEntry claimed(@Nullable SessionEntry previous, SessionEntry next) {
		this.cache.remove(next.name());
		if (previous != null) {
			tellTakenOver(previous.node(), next);
		}
		return next;
	}

	/** Tells a node that it has lost a session, unless it is this one. */
	void tellTakenOver(String node, SessionEntry successor) {
		if (!node.equals(this.nodes.self())) {
			this.requests.tell(node, (sender, id, deadline) -> new TakenOver(sender, id, deadline, successor));
		}
	}

	@Override
	public void release(SessionEntry entry) {
		if (this.verification != null) {
			this.verification.release(entry);
		}
	}

	@Override
	public CompletableFuture<@Nullable SessionEntry> locate(String name) {
		SessionEntry cached = this.nodes.isIsolated() ? null : this.cache.get(name);
		return (cached != null && this.nodes.isKnown(cached.node())) ? CompletableFuture.completedFuture(cached)
				: find(name);
	}

	@Override
	public CompletableFuture<@Nullable SessionEntry> find(String name) {
		if (this.nodes.isIsolated()) {
			return CompletableFuture
				.failedFuture(new ExchangeRejectedException(String.valueOf(this.nodes.problem()), null));
		}
		return bounded(this.engine.get(name)).thenCompose((bytes) -> {
			SessionEntry entry = WireForm.entryOrNull(name, bytes);
			return isHeld(entry).<@Nullable SessionEntry>thenApply((held) -> {
				if (entry == null || !held) {
					return null;
				}
				if (!entry.node().equals(node())) {
					// Of this node, the sessions themselves are asked first.
					this.cache.put(entry);
				}
				return entry;
			});
		}).exceptionally((failure) -> {
			throw new ExchangeRejectedException(
					"%s could not be asked who holds session '%s'".formatted(this.engine.name(), name),
					NodeRequests.unwrap(failure));
		});
	}

	// Messages

	@Override
	public CompletableFuture<Delivery> send(SessionEntry to, ByteBuffer message, Duration timeout) {
		return request(to, timeout,
				(sender, id, deadline) -> new Send(sender, id, deadline, to.name(), to.epoch(), message))
			.thenApply(NodeRequests::delivery);
	}

	@Override
	public CompletableFuture<ByteBuffer> exchange(SessionEntry to, ByteBuffer request, Duration timeout) {
		return request(to, timeout,
				(sender, id, deadline) -> new Exchange(sender, id, deadline, to.name(), to.epoch(), request));
	}

	private CompletableFuture<ByteBuffer> request(SessionEntry to, Duration timeout, NodeRequests.Factory factory) {
		return this.requests.send(to.node(), timeout, factory)
			.thenApply((reply) -> NodeRequests.payload(reply, new StaleSessionException(to)))
			.whenComplete((payload, failure) -> {
				if (failure != null) {
					// Whatever it was, look again next time.
					this.cache.remove(to.name());
				}
			});
	}

	@Override
	public CompletableFuture<SessionBroadcast> broadcast(@Nullable String group, Map<Charset, ByteBuffer> messages,
			Duration timeout) {
		CompletableFuture<SessionBroadcast> sum = CompletableFuture.completedFuture(SessionBroadcast.NONE);
		for (String node : this.nodes.others()) {
			sum = sum.thenCombine(broadcast(node, group, messages, timeout), SessionBroadcast::plus);
		}
		return sum;
	}

	private CompletableFuture<SessionBroadcast> broadcast(String node, @Nullable String group,
			Map<Charset, ByteBuffer> messages, Duration timeout) {
		return this.requests
			.send(node, timeout, (sender, id, deadline) -> new Broadcast(sender, id, deadline, group, messages))
			.thenApply((reply) -> NodeRequests.payload(reply, new IllegalStateException()))
			.thenApply(NodeRequests::counts)
			.exceptionally((failure) -> new SessionBroadcast(0, 0, 0, 1));
	}

	/**
	 * Makes the next entry of a name. No two entries of this node have the same epoch,
	 * although two claims may begin with the same previous entry.
	 */
	private synchronized SessionEntry next(@Nullable SessionEntry previous, boolean held, SessionClaim claim) {
		SessionEntry next = SessionEntry.next(previous, held, claim, this.latestEpoch,
				Instant.ofEpochMilli(this.nodes.engineMillis()));
		this.latestEpoch = next.epoch();
		return next;
	}

	/** Limits how long this node waits for the engine. */
	<T> CompletableFuture<T> bounded(CompletableFuture<T> future) {
		return future.orTimeout(this.options.timeout().toMillis(), TimeUnit.MILLISECONDS);
	}

	private static <T> CompletableFuture<T> until(long deadline, CompletableFuture<T> future) {
		return future.orTimeout(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
	}

	/** It is not known whether an entry was registered. */
	@SuppressWarnings("serial")
	private static final class UnclearException extends RuntimeException {

		private final transient SessionEntry entry;

		private UnclearException(SessionEntry entry, Throwable cause) {
			super(String.valueOf(cause), cause);
			this.entry = entry;
		}

		private SessionEntry entry() {
			return this.entry;
		}

	}

}
