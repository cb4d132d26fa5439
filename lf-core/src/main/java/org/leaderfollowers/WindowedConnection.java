package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.transport.Transport;
import org.leaderfollowers.internal.window.MessageWindow;

/**
 * A framed connection whose messages are handled in parallel.
 * <p>
 * Its handle is owned to read and to decode <em>one</em> message for the handler, and is
 * given back before the handler runs: {@link #prepare}, {@link #letIn},
 * {@link #giveBack}. The message stays in the buffer of the thread, and the rest of the
 * input is kept with the connection for the next owner. A message that has to wait for
 * another one is copied, and run by the thread that ends the other one
 * ({@link #runMessages}). All other calls of the handler are made by an owner, as those
 * of any {@link TcpConnection}.
 * <p>
 * Whoever ends a message has the connection looked at if it may wait for that: it is
 * paused while the {@link MessageWindow} is full, and when its input has ended.
 */
final class WindowedConnection extends TcpConnection implements OrderedReplies.Outlet {

	/**
	 * How long a thread goes on with the messages of one connection, if there are more.
	 */
	private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

	private static final VarHandle WINDOW;

	static {
		try {
			WINDOW = MethodHandles.lookup().findVarHandle(WindowedConnection.class, "window", InFlight.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	/**
	 * What is in flight, if anything is. Made by the owner, and given up by any thread;
	 * {@link MessageWindow} decides between the two. While a message is in flight or a
	 * thread is counted, it is that of the message.
	 */
	private volatile @Nullable InFlight window;

	WindowedConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			@Nullable InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context, channel, transport, localAddress, transportAddress);
	}

	/** The window that a message is about to enter. The owner's. */
	private InFlight reserve(WindowOptions options) {
		InFlight current = this.window;
		if (current == null || !current.reserve()) {
			current = new InFlight(this, options);
			current.reserve();
			this.window = current;
		}
		return current;
	}

	/** An idle connection keeps nothing. */
	private void giveUpIfIdle(InFlight candidate) {
		if (candidate.giveUp()) {
			// The owner may have made another one already.
			WINDOW.compareAndSet(this, candidate, null);
			candidate.discardReplies(this.context.memory());
		}
	}

	// The road of a message

	@Override
	public boolean prepare(Participant me) {
		me.turn.message = null;
		boolean leads = me.leads(this.handle.handleSet());
		if (leads) {
			// Before anything is let in: giving the handle back must not fail.
			this.handle.handleSet().ready.reserve();
		}
		for (;;) {
			InFlight current = this.window;
			WindowedMessage due = (current != null && this.closing == null) ? current.takeDue() : null;
			if (due != null) {
				// What an earlier look has decoded stays with the connection.
				me.decoder.forget();
				me.turn.message = due;
				giveBack(me, leads);
				return true;
			}
			if (!super.prepare(me)) {
				return false;
			}
			boolean isReply = this.exchanges != null && this.exchanges.hasFound();
			if (this.step != Step.MESSAGES || isReply || letIn(me, leads)) {
				return true;
			}
		}
	}

	/** Its handle does not belong to the thread that runs a handler. */
	@Override
	public BoundInput.@Nullable BoundConnection boundConnection() {
		Participant me = Participant.current();
		return (me != null && !me.turn.released) ? super.boundConnection() : null;
	}

	/** A message is put into the window, or stays where it is. */
	@Override
	boolean putsAside() {
		return false;
	}

	/**
	 * Lets the message in that was decoded last.
	 * @param leads whether the calling thread leads the handle set, without a lease
	 * @return whether the calling thread is to run its handler, and the handle was given
	 * back; otherwise it waits for another one, or the input has ended
	 */
	private boolean letIn(Participant me, boolean leads) {
		WindowOptions options = Objects.requireNonNull(this.context.window());
		InFlight current = reserve(options);
		WindowedMessage message = new WindowedMessage(this, current);
		boolean runs;
		try {
			Object key = me.decoder.isOversized() ? null : keyOf(options, me.decoder);
			if (key != null && current.isBusy(key) && !message.copy(me.decoder.message(), this.context.memory())) {
				throw new MemoryBudget.ExhaustedException();
			}
			if (current.replies != null) {
				// Before another thread can answer it.
				current.replies.arrived(message);
			}
			runs = current.enter(message, key);
		}
		catch (MemoryBudget.ExhaustedException ex) {
			requestClose(CloseReason.OVERLOADED, null);
			return false;
		}
		catch (Throwable ex) {
			// As of the framing: it is the application's code as well.
			message.discardCopy(this.context.memory());
			endInput(CloseReason.MALFORMED, ex);
			return false;
		}
		noteMessage();
		this.active = true;
		if (runs) {
			me.turn.message = message;
			message.discardCopy(this.context.memory());
			detach(me);
		}
		else {
			me.decoder.consume();
			keepRest(me);
		}
		this.keptWhole = this.partial != null;
		if (isLastMessage()) {
			endInput(CloseReason.SHUTDOWN, null);
		}
		if (runs) {
			giveBack(me, leads);
		}
		return runs;
	}

	private static @Nullable Object keyOf(WindowOptions options, MessageDecoder decoder) {
		MessageOrder order = options.order();
		if (order == null) {
			return null;
		}
		try {
			return order.keyOf(decoder.message());
		}
		finally {
			decoder.messageAgain();
		}
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
	 * Gives the handle back, to whoever goes on with it: at once if there is more to do.
	 * @param leads whether the calling thread leads the handle set, without a lease
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
			timePart();
			released = releaseUntilInput();
		}
		me.turn.released = true;
		if (released) {
			return;
		}
		if (leads) {
			// Its next leader takes it without another wait.
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

	/** Completes the future that waits for a reply, as the owner of the handle. */
	private void completeReply(Participant me) {
		if (!isReply(me.decoder.message())) {
			// The exchange has ended in the meantime.
			letIn(me, false);
			return;
		}
		noteMessage();
		this.active = true;
		me.decoder.consume();
		this.outbound.uncorkOwn();
		keepRest(me);
		this.keptWhole = this.partial != null;
		Participant.endInterrupt();
	}

	/** Runs the handler of a message, and of those that have waited for it. */
	private void runMessages(Participant me, WindowedMessage first) {
		InFlight current = first.window;
		WindowedMessage message = first;
		while (message != null) {
			me.turn.message = message;
			if (this.closing == null) {
				handle(me, message);
			}
			message.discardCopy(this.context.memory());
			me.decoder.endDetached(me.spareBuffers);
			me.turn.message = null;
			message = current.letGo(message, true);
			if (message != null && this.handle.isPaused()) {
				// There is room for another one, and this thread is not free yet.
				this.handle.request(SelectableHandle.LOOK);
			}
		}
		depart(current);
	}

	private void handle(Participant me, WindowedMessage message) {
		ByteBuffer copy = message.payload();
		MessageWindow.Place before = WindowedMessage.answer(message);
		try {
			if (copy == null && me.decoder.isOversized()) {
				throw oversized();
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
	 * A message cannot be answered, which concerns no other one; unless replies have no
	 * other mark than their order, and the client would take the next one for this.
	 * @param payload the message, if it is still there
	 */
	private void messageFailed(WindowedMessage message, @Nullable ByteBuffer payload, Throwable failure) {
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
		OrderedReplies ordered = message.window.replies;
		if (ordered != null && !ordered.hasReplied(message)) {
			message.window.closeBehind(message, CloseReason.HANDLER_ERROR);
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
	 * Goes on with the connection if it waits for the message that has just been handled:
	 * more of it is in memory, most likely.
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

	/** Whether the owner is to look, after a message has been let go. Any thread. */
	private boolean isWaitedFor() {
		boolean draining = isDraining();
		if (draining) {
			this.context.server().changed();
		}
		// The owner pauses first, and then looks at the window; see pauseUntil.
		return this.handle.isPaused() || hasDue() || (draining && unanswered() == 0);
	}

	@Override
	boolean goesOn(Participant me) {
		return (this.keptWhole && !this.stalled && ending() == null) || super.goesOn(me);
	}

	// What holds it up

	@Override
	int unanswered() {
		InFlight current = this.window;
		return super.unanswered() + ((current != null) ? current.size() : 0);
	}

	private boolean hasDue() {
		InFlight current = this.window;
		return current != null && current.hasDue();
	}

	/** Handlers are among what is in flight. */
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
		// The replies may be behind more messages: handlers that all wait for one must be
		// answered.
		int beyond = (this.exchanges != null) ? this.exchanges.pending() : 0;
		return current != null && (current.endsBehindReply || !current.hasRoom(beyond)
				|| current.heldBytes() >= this.context.limits().highWaterMark());
	}

	@Override
	boolean endsWhenResumed() {
		// It was held up by messages before the last one, maybe.
		return false;
	}

	@Override
	boolean isOwner(@Nullable Participant thread) {
		return super.isOwner(thread) && thread != null && !thread.turn.released;
	}

	@Override
	public Suspension suspend() {
		WindowedMessage message = WindowedMessage.current(this);
		if (message == null || !message.window.hold(message)) {
			return super.suspend();
		}
		AtomicBoolean resumed = new AtomicBoolean();
		return () -> {
			if (resumed.compareAndSet(false, true)) {
				settle(message);
			}
		};
	}

	@Override
	public OwedReply owe() {
		WindowedMessage message = WindowedMessage.current(this);
		return (message != null && message.window.hold(message)) ? new OwedByMessage(message) : super.owe();
	}

	private void settle(WindowedMessage message) {
		message.window.letGo(message, false);
		giveUpIfIdle(message.window);
		if (isWaitedFor()) {
			this.handle.request(SelectableHandle.LOOK);
		}
	}

	// Replies

	@Override
	public void send(ByteBuffer message) {
		WindowOptions options = this.context.window();
		boolean ordered = options != null && options.replyOrder() == ReplyOrder.ARRIVAL;
		WindowedMessage answered = ordered ? WindowedMessage.current(this) : null;
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
	public ByteBuffer hold(ByteBuffer reply, long held) {
		checkSendable();
		return this.outbound.hold(reply, held);
	}

	@Override
	public void sendHeld(ByteBuffer frame) {
		this.outbound.sendHeld(frame);
	}

	@Override
	public long pendingBytes() {
		InFlight current = this.window;
		return super.pendingBytes() + ((current != null) ? current.heldBytes() : 0);
	}

	@Override
	public void close() {
		WindowedMessage answered = WindowedMessage.current(this);
		if (answered == null || !answered.window.closeBehind(answered, CloseReason.LOCAL)) {
			super.close();
		}
	}

	@Override
	public void closeNow(CloseReason reason) {
		requestCloseAndLook(reason, null);
	}

	// The end

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
		if (me.turn.message instanceof WindowedMessage message) {
			me.turn.message = null;
			message.discardCopy(this.context.memory());
			me.decoder.endDetached(me.spareBuffers);
			requestClose(CloseReason.IO_ERROR, failure);
			message.window.letGo(message, false);
			depart(message.window);
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

	/**
	 * A reply that is owed for a message, which stays in flight until it is settled.
	 */
	private final class OwedByMessage extends EngineOwedReply {

		private final WindowedMessage message;

		OwedByMessage(WindowedMessage message) {
			this.message = message;
		}

		@Override
		void answer(Runnable action) {
			MessageWindow.Place before = WindowedMessage.answer(this.message);
			try {
				action.run();
			}
			finally {
				WindowedMessage.answer(before);
			}
		}

		@Override
		void sendReply(ByteBuffer reply) {
			answer(() -> WindowedConnection.this.send(reply));
		}

		@Override
		void messageFailed(Throwable failure) {
			answer(() -> WindowedConnection.this.messageFailed(this.message, null, failure));
		}

		@Override
		void settled() {
			settle(this.message);
		}

	}

}
