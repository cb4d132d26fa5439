package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.logging.RateLimit;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * The concrete event handler of a datagram socket: reads datagrams and calls the
 * application's {@link MessageHandler} for each.
 * <p>
 * A datagram socket is a concurrent handle (the paper, activity 1.1): a read takes a
 * whole datagram, so nothing is torn when several threads use the socket. The handle is
 * therefore claimed only to read <em>one</em> datagram, and released before its handler
 * is called. From then on whoever leads may read the next one: another leader that was
 * promoted, one that has taken the leadership over since the handler did not return, or
 * this thread when it has returned. Only a leader claims; a thread that has lost the
 * leadership while its handler ran does not read again. So no thread ever waits in a
 * handler with the handle claimed.
 * <p>
 * Each datagram that was read is counted as under way before the handle is released. The
 * socket is closed by an owner of the handle that finds nothing under way, after the
 * reading has ended for good.
 */
final class DatagramReceiver implements EngineEventHandler {

	/**
	 * Datagrams in a row before others get their turn.
	 */
	private static final int MAX_DATAGRAMS = 64;

	/** How long datagrams are taken in a row, if there are more. */
	private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

	/** Read for one claim, if they are not for the handler. */
	private static final int MAX_READS = 64;

	/**
	 * What a datagram takes of the receive buffer at the least: the system counts the
	 * memory, not the payload.
	 */
	private static final int LEAST_MEMORY = 512;

	/** Failures in a row, each of which may be news of a single peer. */
	private static final int MAX_FAILURES = 16;

	private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

	/** How often a closing thread looks whether the handle set has a leader. */
	private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

	/**
	 * All that are open. Servers of datagrams only ever send replies, so what one of them
	 * seems to have sent to another is forged, or comes of that: they would answer each
	 * other without end.
	 */
	private static volatile DatagramReceiver[] receivers = {};

	private final UdpServer server;

	private final DatagramChannel channel;

	private final DatagramTransfer transfer;

	private final SelectableHandle handle;

	/** Whose datagrams, if they come from our own port, are our own or forged. */
	private final Set<InetAddress> ownAddresses;

	private final int ownPort;

	/** The limit of the buffer that is read into: one more than a message may have. */
	private final int room;

	private final int maxInFlight;

	/** When no more than this are under way, datagrams are read again. */
	private final int resumeAt;

	private final AtomicInteger inFlight = new AtomicInteger();

	private final HandledWork work;

	private final CountDownLatch closed = new CountDownLatch(1);

	/** When to try again, or {@link #NO_DEADLINE} if reading is not suspended. */
	private volatile long resumeNanos = NO_DEADLINE;

	private volatile boolean aborted;

	private final RateLimit log = new RateLimit(TimeUnit.SECONDS.toNanos(10));

	// The owner's; volatile where others look

	/** Whether nothing is read until fewer are under way. */
	private volatile boolean throttled;

	/** Whether nothing is read any more, for good. */
	private volatile boolean inputEnded;

	private boolean readWhileDraining;

	/** How much is read once the server drains: what the socket could hold then. */
	private long drainBudget;

	private int failures;

	private boolean announced;

	private long pauseNanos = FIRST_PAUSE_NANOS;

	DatagramReceiver(UdpServer server, DatagramChannel channel) throws IOException {
		this.server = server;
		this.channel = channel;
		this.work = new HandledWork(toString(), server.name(), server.handlerName());
		this.transfer = server.transfer();
		this.maxInFlight = server.maxInFlight();
		this.resumeAt = Math.max(0, this.maxInFlight - 1 - this.maxInFlight / 4);
		this.room = Math.min(server.maxMessageSize() + 1, Participant.BUFFER_SIZE);
		InetSocketAddress bound = (InetSocketAddress) channel.getLocalAddress();
		this.ownPort = bound.getPort();
		this.ownAddresses = ownAddresses(bound.getAddress());
		this.handle = server.pool().newHandle(channel, this, SelectionKey.OP_READ, new HandlerProfile());
	}

	private static Set<InetAddress> ownAddresses(InetAddress bound) throws SocketException {
		return bound.isAnyLocalAddress() ? NetworkInterface.networkInterfaces()
			.flatMap(NetworkInterface::inetAddresses)
			.collect(Collectors.toUnmodifiableSet()) : Set.of(bound);
	}

	private static synchronized void add(DatagramReceiver receiver) {
		DatagramReceiver[] longer = Arrays.copyOf(receivers, receivers.length + 1);
		longer[receivers.length] = receiver;
		receivers = longer;
	}

	private static synchronized void remove(DatagramReceiver receiver) {
		receivers = Arrays.stream(receivers)
			.filter((candidate) -> candidate != receiver)
			.toArray(DatagramReceiver[]::new);
	}

	void open() {
		add(this);
		this.handle.release();
		this.handle.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
	}

	// The road of a datagram

	@Override
	public void handleEvent(Handle handle, EventType type) {
		Participant me = Participant.current();
		if (me == null) {
			throw new IllegalStateException("dispatched outside of the pool");
		}
		ByteBuffer input = me.input();
		long turnEnds = 0;
		boolean more = false;
		for (int left = MAX_DATAGRAMS;; left--) {
			Datagram datagram = take(input);
			if (datagram == null) {
				return;
			}
			long now = dispatch(me, datagram, input, more);
			if (left == 1 || me.leading != this.handle.handleSet()) {
				return;
			}
			turnEnds = more ? turnEnds : now + TURN_NANOS;
			if (now - turnEnds >= 0 || this.handle.claimFired() != Claim.CLAIMED) {
				return;
			}
			more = true;
		}
	}

	/**
	 * Reads a datagram, and releases the handle in any case. Called by the leader, who
	 * has claimed it.
	 * @param input the buffer of the thread, which holds the payload afterwards
	 * @return the datagram, or {@code null}
	 */
	private @Nullable Datagram take(ByteBuffer input) {
		Datagram datagram = null;
		do {
			if (isSuspended() && this.server.isDraining()) {
				endInput();
			}
			if (datagram == null && wantsInput()) {
				datagram = receive(input);
			}
		}
		while (!settle());
		return datagram;
	}

	/** Reads until there is a datagram for the handler. */
	private @Nullable Datagram receive(ByteBuffer input) {
		boolean draining = this.server.isDraining();
		try {
			if (draining && !this.readWhileDraining) {
				this.readWhileDraining = true;
				// Linux grants twice what it is said to have granted.
				this.drainBudget = this.server.isPaused() ? 0
						: 2L * this.channel.getOption(StandardSocketOptions.SO_RCVBUF);
			}
			for (int reads = 0; reads < MAX_READS; reads++) {
				if (draining && this.drainBudget <= 0) {
					endInput();
					return null;
				}
				input.clear().limit(this.room);
				InetSocketAddress sender = (InetSocketAddress) this.transfer.receive(this.channel, input);
				recovered();
				if (sender == null) {
					if (draining) {
						endInput();
					}
					return null;
				}
				int length = input.position();
				this.drainBudget -= Math.max(length, LEAST_MEMORY);
				this.server.received(length);
				if (length > this.server.maxMessageSize()) {
					this.server.truncated();
				}
				else if (isForged(sender)) {
					this.server.rejected();
				}
				else {
					input.flip().mark().order(ByteOrder.BIG_ENDIAN);
					Datagram datagram = new Datagram(this.server, this.server.nextId(), length, sender);
					begin();
					return datagram;
				}
			}
		}
		catch (Throwable ex) {
			// An error, too: the system may be out of memory for a while, and a socket
			// that is closed stays closed.
			failed(ex);
			if (draining) {
				endInput();
			}
		}
		return null;
	}

	/**
	 * Whether a datagram cannot have come from where it says: an answer would come back
	 * to this process, again and again, or reach many.
	 */
	private boolean isForged(InetSocketAddress sender) {
		InetAddress address = sender.getAddress();
		if (address.isMulticastAddress() || address.isAnyLocalAddress()) {
			return true;
		}
		for (DatagramReceiver receiver : receivers) {
			if (sender.getPort() == receiver.ownPort && receiver.ownAddresses.contains(address)) {
				return true;
			}
		}
		return false;
	}

	/** Returns when the handler returned. */
	private long dispatch(Participant me, Datagram datagram, ByteBuffer message, boolean more) {
		LeaderFollowersPool pool = this.server.pool();
		long began = 0;
		long handled = 0;
		try {
			began = pool.beginDispatch(me, this.handle.profile, more);
			this.server.messageReceived();
			this.server.handler().onMessage(datagram, message);
			handled = pool.clock.nanoTime();
		}
		catch (Throwable ex) {
			handled = pool.clock.nanoTime();
			this.server.handlerFailed(datagram, ex);
		}
		finally {
			// An interrupt meant for the handler must not reach the next one.
			Thread.interrupted();
			if (began != 0) {
				this.server.handled(handled - began);
			}
			datagram.handled();
			pool.endDispatch(me, this.handle);
		}
		return handled;
	}

	// Release

	/**
	 * Releases the handle, or closes the socket, or finds that there is more to do.
	 * @return {@code false} if the caller still owns the handle and has to look again
	 */
	private boolean settle() {
		if (isOver()) {
			if (!this.aborted && !this.inputEnded) {
				this.server.listeningFailed(new ClosedChannelException());
			}
			close();
			return true;
		}
		if (!wantsInput()) {
			return pause();
		}
		if (!this.handle.releaseOrLookAgain()) {
			return false;
		}
		if (this.server.isDraining() && !this.inputEnded) {
			// What was read may have been the last, and then no event tells that there is
			// no more.
			this.handle.request(SelectableHandle.LOOK);
		}
		return true;
	}

	/** Whether the socket is to be closed. */
	private boolean isOver() {
		return this.aborted || !this.channel.isOpen() || (this.inputEnded && this.inFlight.get() == 0);
	}

	private boolean wantsInput() {
		if (this.inputEnded || this.aborted || isSuspended()) {
			return false;
		}
		if (this.server.isPaused() && !this.server.isDraining()) {
			return false;
		}
		return !this.throttled || this.inFlight.get() <= this.resumeAt;
	}

	/** Takes no more events until there is a reason to. */
	private boolean pause() {
		if (this.handle.pause() == Release.LOOK_AGAIN) {
			return false;
		}
		if (isSuspended()) {
			this.handle.request(SelectableHandle.TIMER);
		}
		// It may have come between the last check and the pause.
		if (isOver() || wantsInput()) {
			this.handle.request(SelectableHandle.LOOK);
		}
		return true;
	}

	private void close() {
		this.handle.closeByOwner();
		// Now, by the leader that this is: when closing returns, the port can be bound
		// again.
		this.handle.handleSet().freeClosedChannels();
		remove(this);
		this.closed.countDown();
		this.server.changed();
	}

	private void endInput() {
		this.inputEnded = true;
		this.server.changed();
	}

	// Under way

	/** Called by the owner. */
	private void begin() {
		if (this.inFlight.incrementAndGet() >= this.maxInFlight) {
			this.throttled = true;
			this.server.limitReached();
		}
		else if (this.throttled) {
			this.throttled = false;
		}
	}

	/** A datagram is not under way any more. Any thread. */
	void finished() {
		int left = this.inFlight.decrementAndGet();
		// Who pauses the handle does that first, and then looks how many are under way.
		if ((left == this.resumeAt || left == 0) && this.handle.isPaused()) {
			this.handle.request(SelectableHandle.LOOK);
		}
	}

	int inFlight() {
		return this.inFlight.get();
	}

	/** Whether all that had been received has been read. */
	boolean hasInputEnded() {
		return this.inputEnded || isClosed();
	}

	boolean isClosed() {
		return this.closed.getCount() == 0;
	}

	boolean isOpen() {
		return this.channel.isOpen();
	}

	/** Whether the calling thread runs a handler for a datagram of this. */
	boolean isHandledByCaller() {
		Participant me = Participant.current();
		return me != null && me.handle() == this.handle;
	}

	// Failures

	private void failed(Throwable cause) {
		if (!this.channel.isOpen()) {
			return;
		}
		this.server.receiveFailed();
		HandleSet.logger.debug("Server '{}' could not receive", this.server.name(), cause);
		if (++this.failures < MAX_FAILURES) {
			return;
		}
		if (this.pauseNanos == FIRST_PAUSE_NANOS && this.log.tryAcquire() >= 0) {
			this.announced = true;
			HandleSet.logger.warn(
					"Server '{}' cannot receive datagrams now ({}); it is tried again with growing pauses",
					this.server.name(), RateLimit.printable(cause.toString()));
		}
		this.resumeNanos = System.nanoTime() + this.pauseNanos;
		this.pauseNanos = Math.min(this.pauseNanos * 2, LONGEST_PAUSE_NANOS);
	}

	private void recovered() {
		this.failures = 0;
		if (this.announced) {
			this.announced = false;
			HandleSet.logger.info("Server '{}' receives datagrams again", this.server.name());
		}
		this.pauseNanos = FIRST_PAUSE_NANOS;
	}

	/** Whether reading pauses because it failed. */
	boolean isSuspended() {
		return this.resumeNanos != NO_DEADLINE;
	}

	// Deadlines

	@Override
	public long deadline(long nowNanos) {
		long resume = this.resumeNanos;
		long suspension = this.server.suspensionDeadline();
		return (resume != NO_DEADLINE) ? EngineEventHandler.earlier(suspension, resume) : suspension;
	}

	@Override
	public void expire(long nowNanos) {
		this.server.endSuspensions(nowNanos);
		if (isSuspended() && nowNanos - this.resumeNanos >= 0) {
			// The look that follows tries again.
			this.resumeNanos = NO_DEADLINE;
		}
	}

	/** A deadline has been set that was not there. Any thread. */
	void requestTimer(long deadline) {
		long scheduled = this.handle.timerDeadline;
		if (scheduled == NO_DEADLINE || deadline - scheduled < 0) {
			this.handle.request(SelectableHandle.TIMER);
		}
	}

	// From outside

	/** Something that the owner looks at has changed. Any thread. */
	void look() {
		this.handle.request(SelectableHandle.LOOK);
	}

	@Override
	public boolean lookAtOnce(SelectableHandle own) {
		if (!isOver()) {
			return false;
		}
		// Closing never blocks, so it need not wait behind events whose handlers may.
		Claim claim = own.claimForLook();
		if (claim == Claim.CLAIMED) {
			while (!settle()) {
				// It stays over.
			}
		}
		else if (claim == Claim.OWNER_LOOKS_AGAIN) {
			own.handleSet().deactivate(own);
		}
		return true;
	}

	/**
	 * Closes the socket, whatever is under way.
	 * @param deadlineNanos when to close it even though no thread of the pool does it
	 */
	void abort(long deadlineNanos) {
		this.aborted = true;
		look();
		boolean done = false;
		long leftNanos;
		do {
			// If every thread is busy, the port must not stay open until one is free.
			this.server.pool().attendIfVacant(this.handle.handleSet());
			leftNanos = deadlineNanos - System.nanoTime();
			try {
				done = this.closed.await(Math.min(leftNanos, RETRY_NANOS), TimeUnit.NANOSECONDS);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				break;
			}
		}
		while (!done && leftNanos > 0);
		if (!done) {
			abandon(this.handle);
		}
	}

	@Override
	public void abandon(SelectableHandle handle) {
		this.aborted = true;
		this.inputEnded = true;
		if (handle.claimForLook() == Claim.CLAIMED) {
			handle.closeByOwner();
		}
		else {
			handle.closeChannel();
		}
		remove(this);
		this.closed.countDown();
		this.server.changed();
	}

	@Override
	public HandledWork work() {
		return this.work;
	}

	@Override
	public void closedByFailure(Throwable failure) {
		this.server.listeningFailed(failure);
		this.inputEnded = true;
		remove(this);
		this.closed.countDown();
		this.server.changed();
	}

	@Override
	public String toString() {
		return "datagrams of server '" + this.server.name() + "'";
	}

}
