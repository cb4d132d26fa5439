package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * Looks the name of one address of a client up, as blocking work of its own. A name
 * server that does not answer holds a thread for many seconds, and meanwhile the client
 * connects to its other addresses and sends heartbeats.
 * <p>
 * This is a concrete event handler without a channel, whose events are looks. The owner
 * of the client's connections requests a lookup and later takes its result; it requests
 * no other one before. Between the two, only the owner of this handle writes the result.
 */
final class NameLookup implements EngineEventHandler {

	private static final InetAddress[] NOTHING = {};

	private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

	private final String name;

	private final NameService names;

	private final Runnable done;

	private final HandledWork work;

	private final SelectableHandle handle;

	private volatile boolean requested;

	private volatile @Nullable Result result;

	/** When to try again after a failure of the engine. Written by the owner. */
	private volatile long nextNanos = NO_DEADLINE;

	/** The name service of the system, except in tests. */
	@FunctionalInterface
	interface NameService {

		/**
		 * Looks a name up. May block.
		 * @return at least one address
		 */
		InetAddress[] lookUp(String name) throws UnknownHostException;

	}

	/** What a lookup has found: at least one address, or why there is none. */
	static final class Result {

		private final InetAddress[] addresses;

		private final @Nullable Throwable failure;

		private Result(InetAddress[] addresses, @Nullable Throwable failure) {
			this.addresses = addresses;
			this.failure = failure;
		}

		InetAddress[] addresses() throws IOException {
			if (this.failure instanceof IOException ex) {
				throw ex;
			}
			if (this.failure != null) {
				throw new IOException(this.failure);
			}
			return this.addresses;
		}

	}

	/**
	 * Creates the handler.
	 * @param client the name of the client
	 * @param name the name to look up
	 * @param names the name service
	 * @param timers creates the handle
	 * @param done called when there is a result; must not block or throw
	 */
	NameLookup(String client, String name, NameService names, Function<EngineEventHandler, SelectableHandle> timers,
			Runnable done) {
		this.name = name;
		this.names = names;
		this.done = done;
		this.work = new HandledWork("Lookup of '" + name + "' for client '" + client + "'", null, null);
		this.handle = timers.apply(this);
		this.handle.pause();
	}

	/** Requests a lookup. The result of the previous one must have been taken. */
	void request() {
		this.requested = true;
		this.handle.request(SelectableHandle.LOOK);
	}

	/** Takes the result of the lookup, or {@code null} if it has not ended. */
	@Nullable Result take() {
		Result taken = this.result;
		if (taken != null) {
			this.result = null;
		}
		return taken;
	}

	@Override
	public boolean prepare(Participant me) {
		this.nextNanos = NO_DEADLINE;
		if (this.result != null) {
			// The client may not know it, because memory was short when it was told.
			this.done.run();
		}
		return this.requested;
	}

	@Override
	public void dispatch(Participant me) {
		Result found;
		try {
			found = new Result(this.names.lookUp(this.name), null);
		}
		catch (Throwable ex) {
			// Errors are caught too, such as a lack of memory: the address is retried.
			found = new Result(NOTHING, ex);
		}
		this.requested = false;
		// Last, because the next request may come as soon as it was taken.
		this.result = found;
		this.done.run();
	}

	@Override
	public boolean release(Participant me) {
		return this.handle.pause() == Release.RELEASED;
	}

	@Override
	public long deadline(long nowNanos) {
		return this.nextNanos;
	}

	/** A lookup may block. */
	@Override
	public HandlerProfile profile() {
		return HandlerProfile.BLOCKING;
	}

	/** Memory may be short for a while. The lookup is then tried again later. */
	@Override
	public boolean failed(Participant me, Throwable failure) {
		this.nextNanos = this.handle.handleSet().nowNanos() + RETRY_NANOS;
		this.handle.pauseUntilDeadline();
		EngineLog.INSTANCE.error("{} failed; it is tried again later", this.work.handle(), failure);
		return false;
	}

	@Override
	public void abandon() {
		// There is nothing to close, and nobody waits for the result any more.
	}

	@Override
	public HandledWork work() {
		return this.work;
	}

	@Override
	public String toString() {
		return this.work.handle();
	}

}
