package org.leaderfollowers.spring.cluster;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.session.SessionEntry;
import org.leaderfollowers.spring.session.SessionHolder;

/**
 * Compares the sessions of this node with their entries, which also keeps the entries
 * from expiring. After a partition, a restart of the engine or a lost message, this
 * leaves each name with one holder: an entry that is missing or that this session
 * prevails over is replaced, as is a damaged one, and a session loses its name to an
 * entry that prevails.
 */
final class SessionVerification {

	private static final Log logger = LogFactory.getLog(ClusterSessionDirectory.class);

	/** How many entries are compared at once. */
	private static final int BATCH = 200;

	private final ClusterSessionDirectory directory;

	private final SessionHolder holder;

	private final ClusterEngine engine;

	private final ClusterOptions options;

	private final AtomicBoolean runsSoon = new AtomicBoolean();

	/**
	 * How many comparisons were asked for since the first of those under way began; 0 if
	 * none is.
	 */
	private final AtomicInteger requested = new AtomicInteger();

	/**
	 * Entries that could not be removed yet. If there are too many, the rest expires.
	 */
	private final Set<SessionEntry> unreleased = ConcurrentHashMap.newKeySet();

	SessionVerification(ClusterSessionDirectory directory, SessionHolder holder, ClusterEngine engine,
			ClusterOptions options) {
		this.directory = directory;
		this.holder = holder;
		this.engine = engine;
		this.options = options;
	}

	/**
	 * Compares all sessions, unless this is being done already: then once more
	 * afterwards. Does not block.
	 */
	void run() {
		if (this.requested.getAndIncrement() == 0) {
			begin();
		}
	}

	/** Compares all sessions when the engine has had some time to work again. */
	void runSoon(ScheduledExecutorService timer) {
		if (!this.runsSoon.compareAndSet(false, true)) {
			return;
		}
		boolean scheduled = false;
		try {
			timer.schedule(guarded(() -> {
				this.runsSoon.set(false);
				run();
			}), this.options.timeout().toMillis(), TimeUnit.MILLISECONDS);
			scheduled = true;
		}
		finally {
			if (!scheduled) {
				// Memory is short. The next login tries it again.
				this.runsSoon.set(false);
			}
		}
	}

	/** A timer does not repeat a task that has thrown an exception or an error. */
	static Runnable guarded(Runnable task) {
		return () -> {
			try {
				task.run();
			}
			catch (Throwable ex) {
				// Usually because memory is short. The next run may succeed.
				logFailure(ex);
			}
		};
	}

	private static void logFailure(Throwable failure) {
		try {
			logger.warn("A periodic task of the directory of sessions has failed, and is repeated later", failure);
		}
		catch (Throwable ex) {
			// Memory may be too short for the line as well.
		}
	}

	private void begin() {
		int taken = this.requested.get();
		boolean begun = false;
		try {
			compare().whenComplete((done, failure) -> compared(taken, failure));
			begun = true;
		}
		finally {
			if (!begun) {
				// Otherwise no comparison would ever begin again.
				this.requested.set(0);
			}
		}
	}

	private void compared(int taken, @Nullable Throwable failure) {
		if (failure != null) {
			// Tried again after the next interval, or when the engine has healed.
			logger.debug("The sessions of this node could not be compared with their entries", failure);
		}
		if (!this.requested.compareAndSet(taken, 0)) {
			begin();
		}
	}

	private CompletableFuture<Void> compare() {
		this.unreleased.forEach(this::release);
		CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
		List<SessionEntry> batch = new ArrayList<>(BATCH);
		for (SessionEntry held : this.holder.held()) {
			batch.add(held);
			if (batch.size() == BATCH) {
				List<SessionEntry> full = List.copyOf(batch);
				all = all.thenCompose((done) -> compare(full));
				batch.clear();
			}
		}
		return batch.isEmpty() ? all : all.thenCompose((done) -> compare(batch));
	}

	/**
	 * A session that cannot be compared leaves the others alone: a member of the engine
	 * that is silent or overloaded may hold its entry. It is tried again after the
	 * interval.
	 */
	private CompletableFuture<Void> compare(List<SessionEntry> batch) {
		List<String> names = batch.stream().map(SessionEntry::name).toList();
		Map<String, CompletableFuture<byte @Nullable []>> entries = this.engine.touch(names,
				this.options.entryTimeToLive());
		return CompletableFuture.allOf(batch.stream()
			.map((held) -> this.directory.bounded(Objects.requireNonNull(entries.get(held.name())))
				.thenCompose((bytes) -> correct(held, bytes))
				.exceptionally((failure) -> {
					logger.debug("Session '%s' could not be compared with its entry".formatted(held.name()), failure);
					return null;
				}))
			.toArray(CompletableFuture[]::new));
	}

	private CompletableFuture<@Nullable Void> correct(SessionEntry held, byte @Nullable [] bytes) {
		SessionEntry current;
		try {
			current = WireForm.intactOrNull(held.name(), bytes);
		}
		catch (RuntimeException ex) {
			logger.debug("The entry of session '%s' cannot be read".formatted(held.name()), ex);
			return CompletableFuture.completedFuture(null);
		}
		if (current != null && !held.prevailsOver(current)) {
			if (current.prevailsOver(held)) {
				this.holder.takenOver(current);
			}
			return CompletableFuture.completedFuture(null);
		}
		return this.directory
			.bounded(this.engine.compareAndSet(held.name(), bytes, WireForm.of(held), this.options.entryTimeToLive()))
			.thenAccept((done) -> {
				if (done) {
					registered(held, current);
				}
			});
	}

	private void registered(SessionEntry held, @Nullable SessionEntry replaced) {
		if (replaced != null) {
			this.directory.tellTakenOver(replaced.node(), held);
		}
		if (this.holder.connection(held.name(), held.epoch()) == null) {
			// It has ended meanwhile, and its end may have found no entry to remove.
			release(held);
		}
	}

	/** Removes the entry of a session that has ended, if it is still the current one. */
	void release(SessionEntry entry) {
		if (this.unreleased.size() < this.options.maxCachedNames()) {
			this.unreleased.add(entry);
		}
		this.directory.bounded(this.engine.get(entry.name()))
			.thenCompose((bytes) -> entry.isSameSession(WireForm.intactOrNull(entry.name(), bytes))
					? this.directory
						.bounded(this.engine.compareAndSet(entry.name(), bytes, null, this.options.entryTimeToLive()))
					: CompletableFuture.completedFuture(true))
			.whenComplete((done, failure) -> {
				if (failure == null) {
					this.unreleased.remove(entry);
				}
			});
	}

}
