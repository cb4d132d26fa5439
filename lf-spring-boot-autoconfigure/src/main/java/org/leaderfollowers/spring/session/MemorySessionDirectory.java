package org.leaderfollowers.spring.session;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;

/**
 * The directory of an application of one process. Its only node holds all names.
 */
final class MemorySessionDirectory implements SessionDirectory {

	private static final String NODE = "local";

	private final Map<String, SessionEntry> entries = new ConcurrentHashMap<>();

	private final Clock clock;

	/** The greatest epoch so far. */
	private long latestEpoch;

	MemorySessionDirectory(Clock clock) {
		this.clock = clock;
	}

	@Override
	public void start(SessionHolder holder) {
	}

	@Override
	public void stop() {
	}

	@Override
	public String node() {
		return NODE;
	}

	@Override
	public List<SessionNode> nodes() {
		return List.of(new SessionNode(NODE, this.entries.size(), true));
	}

	@Override
	public CompletableFuture<SessionEntry> claim(SessionClaim claim) {
		try {
			return CompletableFuture
				.completedFuture(this.entries.compute(claim.name(), (name, previous) -> next(previous, claim)));
		}
		catch (SessionContestedException ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	/** The clock may go back, and two logins may come at the same time. */
	private synchronized SessionEntry next(@Nullable SessionEntry previous, SessionClaim claim) {
		SessionEntry next = SessionEntry.next(previous, previous != null, claim, this.latestEpoch,
				this.clock.instant());
		this.latestEpoch = next.epoch();
		return next;
	}

	@Override
	public void release(SessionEntry entry) {
		this.entries.computeIfPresent(entry.name(), (name, current) -> entry.isSameSession(current) ? null : current);
	}

	@Override
	public CompletableFuture<@Nullable SessionEntry> find(String name) {
		return CompletableFuture.completedFuture(this.entries.get(name));
	}

	// There is no other node, so nothing is ever sent to one.

	@Override
	public CompletableFuture<Delivery> send(SessionEntry to, ByteBuffer message, Duration timeout) {
		return CompletableFuture.failedFuture(new StaleSessionException(to));
	}

	@Override
	public CompletableFuture<ByteBuffer> exchange(SessionEntry to, ByteBuffer request, Duration timeout) {
		return CompletableFuture.failedFuture(new StaleSessionException(to));
	}

	@Override
	public CompletableFuture<SessionBroadcast> broadcast(@Nullable String group, Map<Charset, ByteBuffer> messages,
			Duration timeout) {
		return CompletableFuture.completedFuture(SessionBroadcast.NONE);
	}

}
