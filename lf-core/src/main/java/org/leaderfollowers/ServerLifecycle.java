package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectableChannel;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.EngineLog;

/**
 * The lifecycle of a server of any transport: it is started once, can be paused and
 * resumed, and is drained and closed. Any thread.
 *
 * @param <C> the channel that the server is bound to
 */
abstract class ServerLifecycle<C extends SelectableChannel & NetworkChannel> implements Drainable {

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

	private static final Duration ABORT_TIMEOUT = Duration.ofMillis(500);

	/** How often a closing thread checks whether the handle set has a leader. */
	private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

	private final LeaderFollowersPool pool;

	private final ServerState state;

	private final InetSocketAddress requestedAddress;

	private volatile @Nullable InetSocketAddress boundAddress;

	ServerLifecycle(LeaderFollowersPool pool, ServerState state, InetSocketAddress requestedAddress) {
		this.pool = pool;
		this.state = state;
		this.requestedAddress = requestedAddress;
	}

	final LeaderFollowersPool pool() {
		return this.pool;
	}

	final ServerState state() {
		return this.state;
	}

	final String name() {
		return this.state.name();
	}

	// Start

	final synchronized void start() {
		if (this.state.current() != ServerSnapshot.State.NEW) {
			throw new IllegalStateException("Server '%s' was started before".formatted(name()));
		}
		C channel = openAndBind();
		BoundSocket socket;
		try {
			this.pool.start();
			this.pool.serves(this);
			socket = newSocket(channel);
			this.state.started();
		}
		catch (IOException ex) {
			giveUp(channel, ex);
			throw new UncheckedIOException("Server '%s' could not be started".formatted(name()), ex);
		}
		catch (RuntimeException | Error ex) {
			giveUp(channel, ex);
			throw ex;
		}
		socket.open();
	}

	private void giveUp(C channel, Throwable failure) {
		this.pool.servesNoMore(this);
		closeQuietly(channel, failure);
	}

	private C openAndBind() {
		C channel = null;
		try {
			if (this.requestedAddress.getAddress().isMulticastAddress()) {
				// The system would bind it, but nothing would ever arrive.
				throw new BindException("it is the address of a group, and a server joins no group");
			}
			channel = openChannel();
			channel.configureBlocking(false);
			bind(channel, this.requestedAddress);
			this.boundAddress = (InetSocketAddress) channel.getLocalAddress();
			return channel;
		}
		catch (IOException | RuntimeException ex) {
			if (channel != null) {
				closeQuietly(channel, ex);
			}
			IOException cause = (ex instanceof IOException failure) ? failure : new IOException(ex);
			throw new UncheckedIOException(
					"Server '%s' could not bind %s: %s".formatted(name(), this.requestedAddress, ex.getMessage()),
					cause);
		}
		catch (Error ex) {
			if (channel != null) {
				closeQuietly(channel, ex);
			}
			throw ex;
		}
	}

	private static void closeQuietly(SelectableChannel channel, Throwable failure) {
		try {
			channel.close();
		}
		catch (IOException ex) {
			failure.addSuppressed(ex);
		}
	}

	abstract C openChannel() throws IOException;

	abstract void bind(C channel, InetSocketAddress address) throws IOException;

	/** Creates and stores the handler of the bound channel. */
	abstract BoundSocket newSocket(C channel) throws IOException;

	/** The handler of the bound channel, or {@code null} before the start. */
	abstract @Nullable BoundSocket socket();

	// Operation

	final void pause() {
		this.state.paused(true);
	}

	final void resume() {
		this.state.paused(false);
		BoundSocket current = socket();
		if (current != null) {
			current.look();
		}
	}

	final int port() {
		InetSocketAddress bound = this.boundAddress;
		if (bound == null) {
			throw new IllegalStateException("Server '%s' was not started".formatted(name()));
		}
		return bound.getPort();
	}

	final InetSocketAddress address() {
		InetSocketAddress bound = this.boundAddress;
		return (bound != null) ? bound : this.requestedAddress;
	}

	final @Nullable InetSocketAddress boundAddress() {
		return this.boundAddress;
	}

	// Shutdown

	final void close() {
		close(CLOSE_TIMEOUT);
	}

	@Override
	public final boolean close(Duration grace) {
		boolean drained = drain(grace);
		if (!drained && !isDone()) {
			// Before anything ends, so that another thread that drains does not report
			// success.
			this.state.aborted();
			EngineLog.INSTANCE.warnOfClose("Server '{}' is closed although {} had not finished{}; replies may be lost",
					name(), undone(), grace.isZero() ? "" : " within " + grace);
			abort(System.nanoTime() + ABORT_TIMEOUT.toNanos());
		}
		synchronized (this) {
			this.state.stopped();
			this.pool.servesNoMore(this);
			ended();
		}
		return drained;
	}

	final boolean drain(Duration grace) {
		Participant.promoteBeforeBlocking();
		long deadlineNanos = System.nanoTime() + Arguments.nanos(grace);
		boolean abortedBefore = this.state.isAborted();
		beginDrain(deadlineNanos);
		return awaitDrained(deadlineNanos) && this.state.isAborted() == abortedBefore;
	}

	final boolean awaitDrained(Duration timeout) {
		Participant.promoteBeforeBlocking();
		return this.state.isEnding() && awaitDrained(System.nanoTime() + Arguments.nanos(timeout))
				&& !this.state.isAborted();
	}

	@Override
	public final void beginDrain(long deadlineNanos) {
		BoundSocket current;
		synchronized (this) {
			this.state.drain();
			current = socket();
		}
		if (current != null) {
			drainInput(deadlineNanos);
		}
	}

	/**
	 * Waits until everything is answered. If a handler of this server calls this method,
	 * it does not wait for handlers that drain as well, such as itself.
	 */
	final boolean awaitDrained(long deadlineNanos) {
		Participant me = Participant.current();
		SelectableHandle handle = (me != null) ? me.handle() : null;
		boolean own = handle != null && isOwn(handle.handler);
		return this.state.awaitRest(this::isDrained, own, deadlineNanos);
	}

	/**
	 * Waits until the socket is closed. If every thread of the pool is busy, the port
	 * must not stay open until one is free.
	 * @param deadlineNanos when to close the socket even if no thread is free
	 */
	final void awaitClosed(BoundSocket socket, long deadlineNanos) {
		long leftNanos;
		do {
			this.pool.applyUpdatesIfVacant(socket.handle.handleSet());
			leftNanos = deadlineNanos - System.nanoTime();
			try {
				if (socket.awaitClosed(Math.min(leftNanos, RETRY_NANOS))) {
					return;
				}
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				leftNanos = 0;
			}
		}
		while (leftNanos > 0);
		socket.closeByForce();
	}

	/**
	 * Stops accepting new work, and requests a look at everything that still has to be
	 * answered.
	 */
	abstract void drainInput(long deadlineNanos);

	/**
	 * Whether everything was answered, except by handlers that wait for this themselves.
	 */
	abstract boolean isDrained(int exceptHandlers);

	/** Whether a handler handles messages of this server. */
	abstract boolean isOwn(EngineEventHandler handler);

	/** Whether nothing is left to abort. */
	abstract boolean isDone();

	/** The number and kind of the unfinished items, for the log. */
	abstract String undone();

	/** Ends the unfinished items, whether they were answered or not. */
	abstract void abort(long deadlineNanos);

	/** Called when the server is closed. */
	void ended() {
	}

}
