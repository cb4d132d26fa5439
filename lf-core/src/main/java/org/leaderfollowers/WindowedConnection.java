package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Deque;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.transport.Transport;
import org.leaderfollowers.internal.window.MessageWindow;

/**
 * A framed connection whose messages are handled in parallel.
 * <p>
 * A thread owns the handle only to read and to decode <em>one</em> message for the
 * handler, and releases it before the handler runs: {@link #prepare}, {@link #letIn},
 * {@link #giveBack}. The message stays in the buffer of the thread, and the rest of the
 * input is kept for the next owner. A message that has to wait for another one is copied.
 * The thread that ends the other one then runs its handler ({@link #runMessages}). All
 * other handler methods are called by an owner, as for any {@link TcpConnection}.
 * <p>
 * The connection is paused while the {@link MessageWindow} is full and when its input has
 * ended. A thread that ends a message therefore requests a look if the connection may
 * wait for this.
 */
final class WindowedConnection extends TcpConnection implements OrderedReplies.Outlet {

	private static final AtomicReferenceFieldUpdater<WindowedConnection, @Nullable InFlight> WINDOW = AtomicReferenceFieldUpdater
		.newUpdater(WindowedConnection.class, InFlight.class, "window");

	/**
	 * The window of messages in flight, or {@code null}. The owner creates it, and any
	 * thread may discard it; {@link MessageWindow} decides between the two. As long as it
	 * contains a message or counts a thread, it is not replaced.
	 */
	private volatile @Nullable InFlight window;

	WindowedConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			@Nullable InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context, channel, transport, localAddress, transportAddress);
	}

	/** Returns the window that a message is about to enter. Called by the owner only. */
	private InFlight reserve(WindowOptions options) {
		InFlight current = this.window;
		if (current == null || !current.reserve()) {
			current = new InFlight(this, options);
			current.reserve();
			this.window = current;
		}
		return current;
	}

	/** Discards an empty window, so that an idle connection needs no memory for it. */
	private void giveUpIfIdle(InFlight candidate) {
		if (candidate.giveUp()) {
			// The owner may have created another window already.
			WINDOW.compareAndSet(this, candidate, null);
			candidate.discardReplies(this.context.memory());
		}
	}

	// The path of a message

	@Override
	public boolean prepare(Participant me) {
		me.turn.message = null;
		boolean leads = me.leads(this.handle.handleSet());
		if (leads) {
			// Now, because releasing the handle must not fail later.
			this.handle.handleSet().ready.reserve();
		}
		for (;;) {
			InFlight current = this.window;
			WindowedMessage due = (current != null && this.closing == null) ? current.takeDue() : null;
			if (due != null) {
				// Input that was decoded earlier stays with the connection.
				me.decoder.forget();
				me.turn.message = due;
				giveBack(me, leads);
				return true;
			}
			if (!super.prepare(me)) {
				return false;
			}
			boolean forOwner = this.context.classes() != null || (this.exchanges != null && this.exchanges.hasFound());
			if (this.step != Step.MESSAGES || forOwner || letIn(me, leads)) {
				return true;
			}
		}
	}

	/**
	 * A thread that runs a handler does not own the handle, so it reads nothing while the
	 * handler waits.
	 */
	@Override
	public BoundInput.@Nullable BoundConnection boundConnection() {
		Participant me = Participant.current();
		return (me != null && !me.turn.released) ? super.boundConnection() : null;
	}

	/** Messages enter the window or stay in the input, so none is kept for later. */
	@Override
	boolean putsAside() {
		return false;
	}

	/**
	 * Lets the message that was decoded last enter the window.
	 * @param leads whether the calling thread leads the handle set, not under a lease
	 * @return whether the calling thread must run the handler: the handle was released.
	 * Otherwise the message waits for another one, or the input has ended
	 */
	private boolean letIn(Participant me, boolean leads) {
		WindowOptions options = Objects.requireNonNull(this.context.window());
		InFlight current = reserve(options);
		WindowedMessage message = new WindowedMessage(this, current);
		boolean runs;
		try {
			Object key = me.decoder.isOversized() ? null : options.keyOf(me.decoder);
			if (key != null && current.isBusy(key) && !message.copy(me.decoder.message(), this.context.memory())) {
				throw new MemoryBudget.ExhaustedException();
			}
			if (current.replies != null) {
				// Before another thread can answer the message.
				current.replies.arrived(message);
			}
			runs = current.enter(message, key);
			// Before anything that may fail: the window counts this thread from now on.
			me.turn.message = runs ? message : null;
		}
		catch (MemoryBudget.ExhaustedException ex) {
			requestClose(CloseReason.OVERLOADED, null);
			return false;
		}
		catch (Throwable ex) {
			// This is code of the application, as a framing is.
			message.discardCopy(this.context.memory());
			endInput(CloseReason.MALFORMED, ex);
			return false;
		}
		noteMessage();
		this.active = true;
		if (runs) {
			message.discardCopy(this.context.memory());
			detach(me);
		}
		else {
			me.decoder.consume();
			keepRest(me);
		}
		this.keptWhole = this.partial != null;
		if (isLastMessage() && !awaitsReplies()) {
			endInput(drainReason(), null);
		}
		if (runs) {
			giveBack(me, leads);
		}
		return runs;
	}

	private void detach(Participant me) {
		try {
			keep(me.decoder.detach(me, this.context.clock(), this.context.limits().frameSize()));
		}
		catch (MemoryBudget.ExhaustedException ex) {
			keep(null);
			requestClose(CloseReason.OVERLOADED, null);
		}
	}

	/**
	 * Releases the handle. If there is more to do, another thread continues at once.
	 * @param leads whether the calling thread leads the handle set, not under a lease
	 */
	private void giveBack(Participant me, boolean leads) {
		if (this.active) {
			this.active = false;
			noteActivity(nanoTime());
		}
		boolean released = false;
		if (this.closing == null && isHeldUp()) {
			this.stalled = true;
			messageDeadline(NO_DEADLINE);
			released = pauseUntil(this.context.limits().lowWaterMark());
		}
		else if (this.closing == null && !this.keptWhole && !this.moreToRead && !hasDue()) {
			timeRest();
			released = releaseUntilInput();
		}
		me.turn.released = true;
		if (released) {
			return;
		}
		if (leads) {
			// The next leader takes it from the queue without waiting for events.
			this.handle.handleSet().ready.add(this.handle);
		}
		else {
			this.handle.giveBack();
			this.handle.request(SelectableHandle.LOOK);
		}
	}

	@Override
	public HandlerProfile profile() {
		Participant me = Participant.current();
		return (me != null && me.turn.message != null) ? this.handle.profile() : super.profile();
	}

	@Override
	public void dispatch(Participant me) {
		if (me.turn.message == null && this.step == Step.MESSAGES) {
			completeReply(me);
		}
		else if (me.turn.message == null) {
			super.dispatch(me);
		}
		if (me.turn.message instanceof WindowedMessage message) {
			runMessages(me, message);
		}
	}

	/** Completes a reply, classifies, or reports what is too large before. The owner. */
	private void completeReply(Participant me) {
		boolean isReply = !me.decoder.isOversized() && isReply(me.decoder.message());
		if (!isReply && leavesPool(me)) {
			return;
		}
		if (!isReply && this.context.classes() == null) {
			// The exchange has ended, or the connection has chosen its pool.
			letIn(me, false);
			return;
		}
		noteMessage();
		this.active = true;
		if (!isReply) {
			// Outside of the window, which is empty when the connection moves: no thread
			// of this pool goes on with it, and it leaves no memory here.
			tellOfOversized(me.decoder);
			messageHandled(me);
		}
		me.decoder.consume();
		this.outbound.uncorkOwn();
		if (!me.decoder.endMessage(me.spareBuffers) && this.closing == null) {
			keepRest(me);
		}
		me.decoder.forget();
		this.keptWhole = this.partial != null;
		if (!isReply) {
			takesNext(me, 1, this.keptWhole);
		}
		Participant.endInterrupt();
	}

	/** Runs the handler of a message, and then of the messages that waited for it. */
	private void runMessages(Participant me, WindowedMessage first) {
		InFlight current = first.window;
		WindowedMessage message = first;
		while (message != null) {
			me.turn.message = message;
			// A new window does not know that an earlier one lacks a reply.
			if (isOpen()) {
				handle(me, message);
			}
			message.discardCopy(this.context.memory());
			me.decoder.endDetached(me.spareBuffers);
			me.turn.message = null;
			message = letGo(current, message);
			if (message != null && this.handle.isPaused()) {
				// A place has become free, but this thread is still busy.
				this.handle.request(SelectableHandle.LOOK);
			}
		}
		depart(current);
	}

	private @Nullable WindowedMessage letGo(InFlight current, WindowedMessage message) {
		try {
			return current.letGo(message, true);
		}
		catch (OutOfMemoryError ex) {
			// Replies that follow may never be sent, and nobody else closes.
			try {
				this.handle.closeChannel();
			}
			finally {
				depart(current);
			}
			throw ex;
		}
	}

	private void handle(Participant me, WindowedMessage message) {
		ByteBuffer copy = message.payload();
		MessageWindow.Place before = WindowedMessage.answer(message);
		try {
			if (copy == null && me.decoder.isOversized()) {
				throw this.context.limits().oversized();
			}
			this.context.handler().onMessage(this, (copy != null) ? copy : me.decoder.message());
		}
		catch (Throwable ex) {
			Participant.endInterrupt();
			messageFailed(message, (copy != null) ? message.payload() : me.decoder.messageAgain(), ex);
		}
		finally {
			WindowedMessage.answer(before);
		}
		Participant.endInterrupt();
		this.context.counters().messageHandled(this.handle.handleSet(), me.handled(nanoTime()));
	}

	/**
	 * Reports that a message could not be answered. Other messages are not affected,
	 * unless the client has exceeded a limit, or would take the next reply for this one:
	 * then the connection closes.
	 * @param payload the message, or {@code null} if it is no longer available
	 */
	void messageFailed(WindowedMessage message, @Nullable ByteBuffer payload, Throwable failure) {
		if (isClosedException(failure)) {
			return;
		}
		try {
			if (payload != null) {
				this.context.handler().onError(this, payload, failure);
			}
			else {
				this.context.handler().onError(this, failure);
			}
		}
		catch (Throwable ex) {
			if (!isClosedException(ex)) {
				logUnhandled(ex);
			}
		}
		CloseReason reason = CloseReason.of(failure);
		if (message.window.closesFor(message, reason) && !message.window.closeBehind(message, reason)) {
			requestCloseAndLook(reason, null);
		}
	}

	private void depart(InFlight current) {
		if (current.depart()) {
			closing().reportClose();
			Participant.endInterrupt();
		}
		else {
			giveUpIfIdle(current);
		}
	}

	/**
	 * Continues with the connection if it waits for the message that was just handled,
	 * because its data is probably still in the cache of the processor.
	 */
	@Override
	public boolean release(Participant me) {
		if (!me.turn.released) {
			return super.release(me);
		}
		long now = me.takeHandledNanos();
		if (now != 0) {
			noteActivity(now);
		}
		if (!isWaitedFor()) {
			return true;
		}
		if ((now == 0 || !me.turn.isTimeUp(now, TURN_NANOS)) && this.handle.claimPaused()) {
			me.turn.released = false;
			return false;
		}
		this.handle.request(SelectableHandle.LOOK);
		return true;
	}

	/** Whether the owner has to look after a message has been released. Any thread. */
	private boolean isWaitedFor() {
		boolean draining = isDraining();
		if (draining) {
			this.context.server().changed();
		}
		// The owner first pauses and then checks the window; see pauseUntil.
		return this.handle.isPaused() || hasDue() || (draining && unanswered() == 0);
	}

	@Override
	boolean goesOn(Participant me) {
		return (this.keptWhole && !this.stalled && ending() == null) || super.goesOn(me);
	}

	// What delays further messages and the end

	@Override
	int unanswered() {
		InFlight current = this.window;
		return super.unanswered() + ((current != null) ? current.size() : 0);
	}

	/** Whether a message is to be handled that no thread has taken. Any thread. */
	boolean hasDue() {
		InFlight current = this.window;
		return current != null && current.hasDue();
	}

	/** A message has become due, and a thread that waits in a handler cannot take it. */
	@Override
	public boolean hasPostponed() {
		return super.hasPostponed() || hasDue();
	}

	/** The messages in flight include the running handlers. */
	@Override
	int undone() {
		return Math.max(1, unanswered());
	}

	@Override
	boolean isWorkedOn() {
		InFlight current = this.window;
		return current != null && current.threads() > 0;
	}

	@Override
	boolean isHeldUp() {
		if (super.isHeldUp() || (this.outbound.isHigh() && !isClient())) {
			return true;
		}
		InFlight current = this.window;
		// Room for more messages: if all handlers wait for replies, these may come after
		// further messages, which must be read first.
		int beyond = (this.exchanges != null) ? this.exchanges.pending() : 0;
		return current != null && (current.endsBehindReply || !current.hasRoom(beyond)
				|| current.heldBytes() >= this.context.limits().highWaterMark());
	}

	@Override
	boolean endsWhenResumed() {
		// Earlier messages than the last one may have delayed it.
		return false;
	}

	@Override
	boolean isOwner(@Nullable Participant thread) {
		return super.isOwner(thread) && thread != null && !thread.turn.released;
	}

	@Override
	public Suspension suspend() {
		StackReserve.require();
		WindowedMessage message = WindowedMessage.current(this);
		if (message == null) {
			return super.suspend();
		}
		AtomicBoolean resumed = new AtomicBoolean();
		Suspension suspension = () -> {
			StackReserve.require();
			if (resumed.compareAndSet(false, true)) {
				settle(message);
			}
		};
		// Last, because nobody could end it if there were no memory for the object.
		return message.window.hold(message) ? suspension : super.suspend();
	}

	@Override
	public OwedReply owe() {
		StackReserve.require();
		WindowedMessage message = WindowedMessage.current(this);
		if (message == null) {
			return super.owe();
		}
		OwedReply owed = new OwedByMessage(this, message);
		return message.window.hold(message) ? owed : super.owe();
	}

	/**
	 * Ends a message that another thread has answered: a suspension was resumed, or an
	 * owed reply was settled. Any thread.
	 */
	void settle(WindowedMessage message) {
		message.window.letGo(message, false);
		giveUpIfIdle(message.window);
		if (isWaitedFor()) {
			this.handle.request(SelectableHandle.LOOK);
		}
	}

	// Replies

	@Override
	public void send(ByteBuffer message) {
		StackReserve.require();
		WindowedMessage answered = WindowedMessage.current(this);
		OrderedReplies replies = (answered != null) ? answered.window.replies : null;
		if (answered != null && replies != null) {
			replies.send(answered, message);
		}
		else {
			sendNow(message);
		}
	}

	@Override
	public void sendNow(ByteBuffer reply) {
		super.send(reply);
	}

	@Override
	public ByteBuffer hold(ByteBuffer reply, long heldBytes, Deque<ByteBuffer> frames) {
		checkSendable();
		return this.outbound.hold(reply, heldBytes, frames);
	}

	@Override
	public void sendHeld(ByteBuffer frame) {
		this.outbound.sendHeld(frame);
	}

	@Override
	public void relieve() {
		this.outbound.refused();
	}

	@Override
	public boolean isWritable() {
		return super.isWritable()
				&& !OrderedReplies.holdsBack(WindowedMessage.current(this), this.context.limits().highWaterMark());
	}

	@Override
	public long pendingBytes() {
		InFlight current = this.window;
		return super.pendingBytes() + ((current != null) ? current.heldBytes() : 0);
	}

	@Override
	public void close(CloseReason reason) {
		StackReserve.require();
		WindowedMessage answered = WindowedMessage.current(this);
		if (answered == null || !answered.window.closeBehind(answered, reason.requireOfApplication())) {
			super.close(reason);
		}
	}

	@Override
	public void closeNow(CloseReason reason) {
		requestCloseAndLook(reason, null);
	}

	/** How much memory messages take that wait for others. Any thread. */
	long copiedBytes() {
		InFlight current = this.window;
		return (current != null) ? current.copiedBytes.get() : 0;
	}

	// Shutdown

	@Override
	boolean endHandling() {
		InFlight current = this.window;
		if (current == null) {
			return true;
		}
		boolean isLast = current.close();
		for (WindowedMessage lost = current.dropNext(); lost != null; lost = current.dropNext()) {
			lost.discardCopy(this.context.memory());
		}
		current.discardReplies(this.context.memory());
		return isLast;
	}

	@Override
	public boolean failed(Participant me, Throwable failure) {
		boolean released = me.turn.released;
		try {
			if (me.turn.message instanceof WindowedMessage message) {
				me.turn.message = null;
				message.discardCopy(this.context.memory());
				me.decoder.endDetached(me.spareBuffers);
				try {
					requestClose(CloseReason.IO_ERROR, failure);
				}
				finally {
					message.window.letGo(message, false);
					depart(message.window);
				}
			}
			else if (released) {
				// A reply may be missing. An owner might find other messages, and
				// never the failure.
				requestClose(CloseReason.IO_ERROR, failure);
			}
		}
		catch (Throwable ex) {
			if (!released) {
				throw ex;
			}
			// Another thread may own the handle by now, so this one must not close it.
			EngineLog.INSTANCE.error("{} failed, and its message was not ended", this, ex);
		}
		if (released) {
			this.handle.request(SelectableHandle.LOOK);
			return false;
		}
		boolean goesOn = super.failed(me, failure);
		if (!goesOn) {
			endHandling();
		}
		return goesOn;
	}

}
