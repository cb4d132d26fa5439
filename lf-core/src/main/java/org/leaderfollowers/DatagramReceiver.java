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
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.lifecycle.RetryBackoff;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;

/**
 * The concrete event handler of a datagram socket. It reads datagrams and calls the
 * {@link MessageHandler} of the application for each.
 * <p>
 * A datagram socket is a concurrent handle (the paper, activity 1.1): a read takes a
 * whole datagram, so several threads can use the socket. The handle is therefore claimed
 * only to read <em>one</em> datagram, and is released before the handler is called. From
 * then on, any leader may read the next one: a leader that was promoted, a leader that
 * took over because the handler did not return, or this thread when its handler has
 * returned. Only a leader claims the handle. A thread that has lost the leadership while
 * its handler ran does not read again. No thread therefore waits in a handler while it
 * owns the handle.
 * <p>
 * A datagram counts as under way before the handle is released. The socket is closed by
 * an owner of the handle that finds no datagram under way after reading has ended for
 * good.
 */
final class DatagramReceiver extends BoundSocket {

	/** The maximum number of datagrams in a row before other handles get their turn. */
	private static final int MAX_DATAGRAMS = 64;

	/** How long datagrams are read in a row. */
	private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

	/**
	 * The maximum number of reads for one claim, if no read yields a datagram for the
	 * handler.
	 */
	private static final int MAX_READS = 64;

	/**
	 * The minimum memory of the receive buffer that a datagram occupies. The system
	 * counts the memory, not the payload.
	 */
	private static final int LEAST_MEMORY = 512;

	/**
	 * How many failures in a row are tolerated, because each of them may concern only one
	 * peer.
	 */
	private static final int TOLERATED_FAILURES = 15;

	/**
	 * All open receivers of this process. Servers of datagrams send only replies. A
	 * datagram that comes from the port of one of these servers is therefore forged, or
	 * is the consequence of a forged one, and the two servers would reply to each other
	 * without end.
	 */
	private static volatile DatagramReceiver[] receivers = {};

	private final DatagramChannel channel;

	private final DatagramTransfer transfer;

	private final MessageHandler handler;

	private final UdpOptions options;

	private final ServerCounters counters;

	private final DatagramCounters datagramCounters;

	private final ServerWarnings warnings;

	private final Clock clock;

	private final DatagramReplies replies;

	private final DatagramSuspensions suspensions;

	private final InetSocketAddress localAddress;

	/**
	 * Our own addresses. A datagram from our own port at one of them is our own or
	 * forged.
	 */
	private final Set<InetAddress> ownAddresses;

	/**
	 * The limit of the read buffer: one byte more than the maximum size of a message, so
	 * that a larger datagram is detected.
	 */
	private final int room;

	private final DatagramsUnderWay underWay;

	private volatile boolean aborted;

	// Used by the owner only; volatile if other threads read it

	/** Whether reading has ended for good. */
	private volatile boolean inputEnded;

	/** The input that is still read while the server drains. */
	private @Nullable DrainedInput drained;

	private long latestId;

	DatagramReceiver(ServerState server, DatagramChannel channel, HandleFactory handles, Clock clock,
			DatagramShare share, MessageHandler handler, String handlerName, UdpOptions options,
			ServerCounters counters, DatagramCounters datagramCounters, ServerWarnings warnings) throws IOException {
		super(server, channel, handles,
				new HandledWork("datagrams of server '" + server.name() + "'", server.name(), handlerName),
				new RetryBackoff(server.name(), TOLERATED_FAILURES,
						"Server '{}' cannot receive datagrams now ({}). It retries with growing pauses",
						"Server '{}' receives datagrams again"));
		this.channel = channel;
		this.clock = clock;
		this.handler = handler;
		this.options = options;
		this.transfer = options.transfer();
		this.counters = counters;
		this.datagramCounters = datagramCounters;
		this.warnings = warnings;
		this.replies = new DatagramReplies(server, channel, options, counters, datagramCounters, warnings, clock);
		this.suspensions = new DatagramSuspensions(options.suspensionNanos());
		this.underWay = new DatagramsUnderWay(options.maxInFlight(), share, datagramCounters, warnings);
		this.room = Math.min(options.maxMessageSize() + 1, Participant.BUFFER_SIZE);
		this.localAddress = (InetSocketAddress) channel.getLocalAddress();
		this.ownAddresses = ownAddresses(this.localAddress.getAddress());
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

	@Override
	void open() {
		add(this);
		super.open();
	}

	// The path of a datagram

	@Override
	public boolean prepare(Participant me) {
		me.turn.countRead();
		me.turn.datagram = take(me.input());
		return me.turn.datagram != null;
	}

	/**
	 * After a number of datagrams in a row, the socket is likely to hold as many again.
	 */
	@Override
	public int more(Participant me) {
		return me.turn.reads() - 1;
	}

	private static ByteBuffer payload(Participant me, Datagram datagram) {
		return me.input().limit(datagram.length()).mark().order(ByteOrder.BIG_ENDIAN);
	}

	@Override
	public void dispatch(Participant me) {
		Datagram datagram = (Datagram) Objects.requireNonNull(me.turn.datagram);
		try {
			this.counters.messageReceived();
			this.handler.onMessage(datagram, payload(me, datagram));
			noteHandled(me);
		}
		catch (Throwable ex) {
			noteHandled(me);
			datagram.handlerFailed(ex, payload(me, datagram));
		}
		finally {
			Participant.endInterrupt();
			datagram.handled();
		}
	}

	private void noteHandled(Participant me) {
		this.counters.messageHandled(this.handle.handleSet(), me.handled(this.clock.nanoTime()));
	}

	/**
	 * {@link #prepare} has released the handle already. Claims it again if this thread
	 * still leads.
	 */
	@Override
	public boolean release(Participant me) {
		boolean handled = me.turn.datagram != null;
		long now = me.takeHandledNanos();
		me.turn.datagram = null;
		return !handled || me.turn.reads() == MAX_DATAGRAMS || !me.leads(this.handle.handleSet())
				|| me.turn.isTimeUp(now, TURN_NANOS) || this.handle.claimFired() != Claim.CLAIMED;
	}

	/**
	 * Reads a datagram and releases the handle in any case. Called by the owner.
	 * @param input the buffer of the thread, which then holds the payload
	 * @return the datagram, or {@code null}
	 */
	private @Nullable Datagram take(ByteBuffer input) {
		Datagram datagram = null;
		do {
			if (this.backoff.isBackingOff() && this.server.isDraining()) {
				endInput();
			}
			if (datagram == null && wantsInput() && this.underWay.takeThread()) {
				try {
					datagram = receive(input);
				}
				finally {
					if (datagram == null) {
						this.underWay.giveBackThread();
					}
				}
			}
		}
		while (!releaseOrClose());
		return datagram;
	}

	/** Reads until there is a datagram for the handler. */
	private @Nullable Datagram receive(ByteBuffer input) {
		boolean draining = this.server.isDraining();
		try {
			if (draining && this.drained == null) {
				// Linux uses twice the size that it reports.
				this.drained = new DrainedInput(
						this.server.isPaused() ? 0 : 2L * this.channel.getOption(StandardSocketOptions.SO_RCVBUF));
			}
			for (int reads = 0; reads < MAX_READS; reads++) {
				if (this.drained != null && !this.drained.allowsRead(false)) {
					endInput();
					return null;
				}
				input.clear().limit(this.room);
				InetSocketAddress sender = (InetSocketAddress) this.transfer.receive(this.channel, input);
				this.backoff.succeeded();
				if (sender == null) {
					if (draining) {
						endInput();
					}
					return null;
				}
				int length = input.position();
				if (this.drained != null) {
					this.drained.count(Math.max(length, LEAST_MEMORY));
				}
				this.counters.received(length);
				if (length > this.options.maxMessageSize()) {
					this.datagramCounters.truncated.increment();
					this.warnings.truncated(this.options.maxMessageSize());
				}
				else if (isForged(sender)) {
					this.datagramCounters.rejected.increment();
				}
				else {
					Datagram datagram = new Datagram(this, ++this.latestId, length, sender);
					this.underWay.begin();
					return datagram;
				}
			}
		}
		catch (Throwable ex) {
			// Errors are caught too: the system may be out of memory for a while, and a
			// socket that is closed cannot be reopened.
			receiveFailed(ex);
			if (draining) {
				endInput();
			}
		}
		return null;
	}

	/**
	 * Whether the sender address of a datagram cannot be genuine. A reply would come back
	 * to this process again and again, or reach many hosts.
	 */
	private boolean isForged(InetSocketAddress sender) {
		InetAddress address = sender.getAddress();
		if (address.isMulticastAddress() || address.isAnyLocalAddress()) {
			return true;
		}
		for (DatagramReceiver receiver : receivers) {
			if (sender.getPort() == receiver.localAddress.getPort() && receiver.ownAddresses.contains(address)) {
				return true;
			}
		}
		return false;
	}

	// Release

	/**
	 * Releases the handle or closes the socket, unless there is more to do.
	 * @return {@code false} if the caller still owns the handle and has to look again
	 */
	private boolean releaseOrClose() {
		if (isOver()) {
			if (!this.aborted) {
				this.server.listeningFailed(new ClosedChannelException());
			}
			this.handle.closeByOwner();
			return true;
		}
		if (!wantsInput()) {
			return pause();
		}
		if (!this.handle.releaseOrLookAgain()) {
			return false;
		}
		if (this.server.isDraining() && !this.inputEnded) {
			// This may have been the last datagram. Then no event reports that there is
			// no more, so a look is requested.
			this.handle.request(SelectableHandle.LOOK);
		}
		return true;
	}

	@Override
	boolean isOver() {
		return this.aborted || !this.channel.isOpen() || (this.inputEnded && inFlight() == 0);
	}

	@Override
	boolean wantsInput() {
		if (this.inputEnded || this.aborted || this.backoff.isBackingOff()) {
			return false;
		}
		if (this.server.isPaused() && !this.server.isDraining()) {
			return false;
		}
		return this.underWay.hasRoom();
	}

	private void endInput() {
		this.inputEnded = true;
		this.server.changed();
	}

	// Under way

	/** Called when a datagram is no longer under way. Any thread. */
	void finished(Datagram datagram) {
		try {
			this.suspensions.remove(datagram);
		}
		finally {
			if (this.underWay.finished() && this.handle.isPaused()) {
				look();
			}
			this.server.changed();
		}
	}

	/**
	 * Called when a handler has returned. Any thread.
	 * @param finished whether the datagram is no longer under way
	 */
	void handlerReturned(Datagram datagram, boolean finished) {
		try {
			if (finished) {
				this.suspensions.remove(datagram);
			}
		}
		finally {
			if (this.underWay.handlerReturned(finished) && this.handle.isPaused()) {
				look();
			}
			if (finished) {
				this.server.changed();
			}
		}
	}

	int inFlight() {
		return this.underWay.count();
	}

	/** Whether all datagrams that had been received have been read. */
	boolean hasInputEnded() {
		return this.inputEnded || isClosed();
	}

	boolean isOpen() {
		return this.channel.isOpen();
	}

	boolean isDraining() {
		return this.server.isDraining();
	}

	/** Why nothing can be sent any more. */
	CloseReason closeReason() {
		return this.server.isAborted() ? CloseReason.SHUTDOWN_TIMEOUT : CloseReason.SHUTDOWN;
	}

	/** The socket. */
	DatagramChannel channel() {
		return this.channel;
	}

	String serverName() {
		return this.server.name();
	}

	InetSocketAddress localAddress() {
		return this.localAddress;
	}

	MessageHandler handler() {
		return this.handler;
	}

	DatagramReplies replies() {
		return this.replies;
	}

	ServerWarnings warnings() {
		return this.warnings;
	}

	// Failures

	private void receiveFailed(Throwable cause) {
		if (this.channel.isOpen()) {
			this.datagramCounters.receiveFailures.increment();
			EngineLog.INSTANCE.debug("Server '{}' could not receive", this.server.name(), cause);
			this.backoff.failed(cause);
		}
	}

	@Override
	public boolean failed(Participant me, Throwable failure) {
		if (me.turn.datagram instanceof Datagram datagram) {
			// Another thread may own the handle by now.
			me.turn.datagram = null;
			try {
				datagram.handled();
			}
			catch (Throwable ex) {
				EngineLog.INSTANCE.error("{} failed, and was not ended", datagram, ex);
			}
			return false;
		}
		return super.failed(me, failure);
	}

	// Deadlines

	@Override
	public long deadline(long nowNanos) {
		return EngineEventHandler.earlier(this.suspensions.deadline(), this.backoff.retryNanos());
	}

	@Override
	public void expire(long nowNanos) {
		this.suspensions.expire(nowNanos);
		// The look that follows it retries.
		this.backoff.endPauseIfOver(nowNanos);
	}

	/** Called when a datagram is suspended. Any thread. */
	void suspended(Datagram datagram) {
		long deadline = this.suspensions.add(datagram);
		if (deadline != NO_DEADLINE) {
			requestTimer(deadline);
		}
	}

	/** Requests a timer for a new deadline. Any thread. */
	private void requestTimer(long deadline) {
		long scheduled = this.handle.timerDeadline;
		if (scheduled == NO_DEADLINE || deadline - scheduled < 0) {
			this.handle.request(SelectableHandle.TIMER);
		}
	}

	// Called from outside

	@Override
	public boolean lookAtOnce() {
		if (!isOver()) {
			return false;
		}
		workAtOnce();
		return true;
	}

	@Override
	void workAlone() {
		while (!releaseOrClose()) {
			// Nothing follows: the end is permanent.
		}
	}

	/** Makes the owner close the socket, even if datagrams are under way. Any thread. */
	@Override
	public void abort() {
		this.aborted = true;
		look();
	}

	@Override
	void closeByForce() {
		abandon();
	}

	@Override
	public void abandon() {
		this.aborted = true;
		if (this.handle.claimForLook() == Claim.CLAIMED) {
			this.handle.closeByOwner();
		}
		else {
			this.handle.closeChannel();
		}
		noteClosed();
	}

	@Override
	void noteClosed() {
		this.inputEnded = true;
		try {
			remove(this);
		}
		finally {
			super.noteClosed();
		}
	}

}
