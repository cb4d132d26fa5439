package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.transport.Transport;
import org.leaderfollowers.internal.transport.Transport.Progress;

/**
 * The framed connection: a concrete event handler that reads messages, calls the
 * {@link MessageHandler} of the application for each, and writes its replies.
 * <p>
 * The path of a message: in {@link #prepare}, the leader reads into its own buffer and
 * decodes; in {@link #dispatch}, the handler runs on the complete messages;
 * {@link #release} follows. Each round has at most one {@link Step} for the application.
 * {@link OutboundWriter} writes replies, and {@link CloseSequence} closes the connection.
 */
class TcpConnection extends FramedConnection {

	/**
	 * The maximum number of messages in a row before other handles get their turn, so
	 * that a few busy peers do not occupy all threads.
	 */
	private static final int MAX_MESSAGES = 64;

	/** How long messages are handled in a row. */
	static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

	/** Written only by the {@link ConnectionRegistry}. */
	volatile @Nullable String name;

	TcpConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			@Nullable InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context, channel, transport, localAddress, transportAddress);
	}

	@Override
	public @Nullable String name() {
		return this.name;
	}

	@Override
	public @Nullable Connection name(String name) {
		StackReserve.require();
		return this.context.registry().name(this, Arguments.notBlank("name", name));
	}

	@Override
	public boolean unname(String name) {
		StackReserve.require();
		return this.context.registry().unname(this, name);
	}

	// The path of a message: reading and decoding, by the leader

	@Override
	public boolean prepare(Participant me) {
		Exchanges current = this.exchanges;
		boolean holds = current != null && current.holdRequests();
		try {
			this.step = nextStep(me);
		}
		finally {
			if (holds) {
				current.letRequestsGo();
			}
		}
		if (this.step != Step.MESSAGES) {
			me.decoder.forget();
		}
		return this.step != Step.NOTHING;
	}

	@Override
	public @Nullable HandlerProfile preparation() {
		return this.context.preparation();
	}

	@Override
	public boolean prepareReplies(Participant me) {
		Exchanges current = this.exchanges;
		if (current == null) {
			return false;
		}
		boolean holds = current.holdRequests();
		this.waitsElsewhere = true;
		this.postpones = true;
		try {
			closeIfAnswered();
			this.step = isOnlyRead(current) ? receive(me) : Step.EXCHANGES;
			if (this.step == Step.MESSAGES) {
				keepMessage(me);
			}
			if (this.closing != null) {
				// Handlers that wait for replies end, so that a thread becomes free. The
				// thread that continues with this connection completes the futures.
				current.close();
			}
			boolean released = this.step == Step.NOTHING && this.closing == null;
			if (released) {
				postponeSilence();
			}
			return released;
		}
		finally {
			this.postpones = false;
			me.decoder.forget();
			if (holds) {
				current.letRequestsGo();
			}
		}
	}

	@Override
	public ByteBuffer exchange(ByteBuffer request, Duration timeout) {
		return requireExchanges().exchange(request, Arguments.positiveNanos("timeout", timeout));
	}

	@Override
	public CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, Duration timeout) {
		return requireExchanges().exchangeAsync(request, Arguments.positiveNanos("timeout", timeout), false);
	}

	@Override
	public CompletableFuture<ByteBuffer> relay(ByteBuffer request, Duration timeout) {
		return requireExchanges().exchangeAsync(request, Arguments.positiveNanos("timeout", timeout), true);
	}

	@Override
	public boolean requestWritable() {
		StackReserve.require();
		this.outbound.yieldTurn();
		return true;
	}

	private Exchanges requireExchanges() {
		StackReserve.requireToLead();
		Exchanges current = this.exchanges;
		if (current == null) {
			throw new IllegalStateException(
					"Server '%s' has no correlation, so it cannot send requests on %s: call correlation(...) before build()"
						.formatted(server(), this));
		}
		return current;
	}

	@Override
	public ByteBuffer receive(Duration timeout) {
		StackReserve.requireToLead();
		long nanos = Arguments.positiveNanos("timeout", timeout);
		Participant me = Participant.current();
		if (me == null || !isOwner(me)) {
			throw new IllegalStateException(
					"receive waits for the next message of %s: only its handler may call it, in the thread that runs it"
						.formatted(this));
		}
		ByteBuffer earlier = (this.exchanges != null) ? this.exchanges.takePostponed() : null;
		ByteBuffer message = (earlier != null) ? earlier : new ConnectionWatch.NextMessage(this).await(timeout, nanos);
		if (this.origin instanceof Permitted permitted) {
			permitted.permit().received(this, message.asReadOnlyBuffer());
		}
		return message;
	}

	private Step nextStep(Participant me) {
		takeUp();
		Exchanges current = this.exchanges;
		if (this.opened && current != null && (current.hasEnded() || takesPostponed())) {
			return Step.EXCHANGES;
		}
		closeIfAnswered();
		CloseSequence end = this.closing;
		if (end != null) {
			return proceedClosing(me, end);
		}
		if (!this.opened) {
			return establish();
		}
		// A handler that is called again and again must not keep the input waiting.
		boolean readsFirst = this.step == Step.RELIEVED && !this.outbound.isCongested();
		if (!readsFirst && this.outbound.takeRelief()) {
			this.active = true;
			return Step.RELIEVED;
		}
		if (beginsToDrain()) {
			this.active = true;
			return Step.DRAINING;
		}
		if (this.exchanges != null && this.exchanges.expire(nanoTime())) {
			return Step.EXCHANGES;
		}
		// The timeouts are checked before the handler is called for another silence.
		boolean mayBeSilent = this.step != Step.SILENT;
		Step received = receive(me);
		if (received != Step.NOTHING || this.closing != null) {
			return received;
		}
		if (readsFirst && this.outbound.takeRelief()) {
			this.active = true;
			return Step.RELIEVED;
		}
		return (mayBeSilent && isSilent()) ? Step.SILENT : Step.NOTHING;
	}

	// Calling the application

	@Override
	public boolean isMovable() {
		return true;
	}

	@Override
	public HandlerProfile profile() {
		return (this.step == Step.TASKS) ? HandlerProfile.BLOCKING : this.handle.profile();
	}

	@Override
	public void dispatch(Participant me) {
		try {
			switch (this.step) {
				case TASKS -> this.transport.runTasks();
				case CLASSIFY -> chooseClass(Objects.requireNonNull(this.context.classes()));
				case OPENED -> call(MessageHandler::onOpen);
				case MESSAGES -> handleMessages(me);
				case RELIEVED -> call(MessageHandler::onWritable);
				case EXCHANGES -> completeExchanges(me, Objects.requireNonNull(this.exchanges));
				case DRAINING -> call(MessageHandler::onDrain);
				case SILENT -> tellOfSilence();
				case FAILED -> closing().reportFailure(null);
				case CLOSED -> closing().reportClose();
				default -> throw new IllegalStateException("nothing was prepared");
			}
		}
		finally {
			Participant.endInterrupt();
		}
	}

	/**
	 * Handles complete messages until there are no more or another handle must have its
	 * turn, and writes the replies.
	 */
	private void handleMessages(Participant me) {
		MessageDecoder decoder = me.decoder;
		int messages = 0;
		do {
			// A reply may be missing if memory was too short to close the connection.
			if (this.handle.isFailurePending() || (this.context.classes() != null && leavesPool(me))) {
				this.outbound.uncorkOwn();
				decoder.forget();
				return;
			}
			noteMessage();
			this.active = true;
			try {
				if (decoder.isOversized()) {
					tellOfOversized(decoder);
				}
				else if (!isReply(decoder.message())) {
					this.context.handler().onMessage(this, decoder.message());
				}
			}
			catch (Throwable ex) {
				messageFailed(ex, decoder.messageAgain());
			}
			messageHandled(me);
			messages++;
		}
		while (takesNext(me, messages, decoder.consume()) && decode(decoder));
		this.outbound.uncorkOwn();
		this.stalled |= this.outbound.isHigh() && !isClient();
		if (!decoder.endMessage(me.spareBuffers) && this.closing == null) {
			keepRest(me);
		}
		decoder.forget();
	}

	/**
	 * Whether the message that was decoded last makes the connection choose another pool,
	 * or close.
	 */
	final boolean leavesPool(Participant me) {
		ServiceClasses classes = this.context.classes();
		boolean isReply = this.exchanges != null && this.exchanges.hasFound();
		return classes != null && !isReply && !me.decoder.isOversized()
				&& leavesPool(me, classes, me.decoder.message(), true);
	}

	/** Completes futures, and handles messages that were kept. */
	private void completeExchanges(Participant me, Exchanges current) {
		current.completeEnded();
		// Neither an interrupt nor the duration of this code belongs to a message.
		Participant.endInterrupt();
		me.handled(nanoTime());
		ServiceClasses classes = this.context.classes();
		ByteBuffer first = (classes != null && takesPostponed()) ? current.peekPostponed() : null;
		// A connection that has failed cannot move; its messages are handled here.
		if (this.closing == null && classes != null && first != null && leavesPool(me, classes, first, false)) {
			if (this.closing != null) {
				current.discardPostponed();
			}
			return;
		}
		int messages = 0;
		boolean stalledBefore = this.stalled;
		ByteBuffer message = takesPostponed() ? current.nextPostponed() : null;
		this.stalled = false;
		while (message != null) {
			try {
				handlePostponed(me, message);
			}
			finally {
				current.handled(message);
			}
			messages++;
			message = takesNext(me, messages, current.hasPostponed()) ? current.nextPostponed() : null;
		}
		this.stalled |= stalledBefore;
	}

	private void handlePostponed(Participant me, ByteBuffer message) {
		this.active = true;
		int length = message.remaining();
		try {
			this.context.handler().onMessage(this, message);
		}
		catch (Throwable ex) {
			messageFailed(ex, message.limit(length).position(0).mark().order(ByteOrder.BIG_ENDIAN));
		}
		messageHandled(me);
	}

	/** Records how long the handler took. */
	final void messageHandled(Participant me) {
		Participant.endInterrupt();
		// The duration of a message begins when the previous one has been handled.
		this.context.counters().messageHandled(this.handle.handleSet(), me.handled(nanoTime()));
	}

	/**
	 * Passes a reply to the thread or future that waits for it. Returns whether the
	 * message was such a reply.
	 */
	final boolean isReply(ByteBuffer message) {
		Exchanges current = this.exchanges;
		return current != null && (current.resume(message) || current.complete(message));
	}

	/** Whether to take the next message now. */
	final boolean takesNext(Participant me, int messages, boolean more) {
		if (isSuspended() || (this.outbound.isHigh() && !isClient()) || this.outbound.isRelieved()) {
			this.stalled = true;
		}
		if (isLastMessage() && !isSuspended() && !awaitsReplies()) {
			endInput(drainReason(), null);
		}
		if (more && !this.stalled && (me.turn.isTimeUp(me.handledNanos(), TURN_NANOS) || messages == MAX_MESSAGES)) {
			this.stalled = true;
		}
		return more && !this.stalled && this.closing == null;
	}

	private void call(Step.Call call) {
		try {
			call.on(this.context.handler(), this);
		}
		catch (Throwable ex) {
			handlerFailed(ex);
		}
	}

	private void handlerFailed(Throwable failure) {
		if (!isClosedException(failure)) {
			requestClose(CloseReason.of(failure), failure);
		}
	}

	private void tellOfSilence() {
		long now = nanoTime();
		long sent = this.outbound.acceptedBytes();
		EventType type = takeSilence(now);
		while (type != null && this.closing == null) {
			EventType silent = type;
			call((handler, connection) -> handler.onIdle(connection, silent));
			type = takeSilence(now);
		}
		if (this.outbound.acceptedBytes() != sent) {
			noteActivity(nanoTime());
		}
	}

	/**
	 * Reports the failure to the handler now, while the buffer still holds the message.
	 * @param message the message as the handler received it
	 */
	@Override
	final void messageFailed(Throwable failure, ByteBuffer message) {
		Participant.endInterrupt();
		handlerFailed(failure);
		CloseSequence end = this.closing;
		if (end != null && end.cause() == failure && end.takeReport()) {
			this.outbound.uncorkOwn();
			end.reportFailure(message);
		}
	}

	// Releasing the handle

	@Override
	public boolean release(Participant me) {
		if (this.step == Step.MOVED) {
			passOn();
			return true;
		}
		if (this.closing == null && goesOn(me)) {
			return false;
		}
		// If a message was handled, the time that was read afterwards is exact enough.
		long handled = me.takeHandledNanos();
		long now = (handled != 0) ? handled : nanoTime();
		if (this.closing == null) {
			restartIfReadLate(now);
			timeRest();
			checkTimeouts(now, this.active || isWorkedOn(), this.moreToRead);
			this.active = false;
		}
		CloseSequence end = this.closing;
		if (end != null) {
			return releaseClosing(end);
		}
		if (this.stalled && !readsReplies()) {
			boolean all = this.transport.readNeeds() == Progress.WANTS_FLUSH;
			return pauseUntil(all ? 0 : this.context.limits().lowWaterMark());
		}
		return releaseUntilInput();
	}

	/** Whether the owner has to begin another round. */
	boolean goesOn(Participant me) {
		boolean draining = isDraining();
		if (draining && !this.opened && !this.step.isFollowed()) {
			// Nothing more arrives in time: not even the handshake was complete.
			requestClose(drainReason(), null);
			return true;
		}
		boolean isTurnOver = (this.opened && this.outbound.isRelieved())
				|| (this.step == Step.EXCHANGES && this.stalled && hasPostponedExchanges());
		boolean hasEnded = !this.waitsElsewhere && this.exchanges != null && this.exchanges.hasEnded();
		if ((this.step.isFollowed() && !isTurnOver) || this.readBetween || hasEnded) {
			this.readBetween = false;
			return true;
		}
		if (!this.opened || this.stalled) {
			return false;
		}
		if (this.moreToRead) {
			if (me.turn.reads() < MAX_READS
					&& (me.handledNanos() == 0 || !me.turn.isTimeUp(me.handledNanos(), TURN_NANOS))) {
				return true;
			}
			if (this.transport.hasMoreInput()) {
				// No event will report this input. Other handles get their turn first,
				// and then the connection is looked at again.
				this.stalled = true;
				return false;
			}
		}
		if (draining && !this.outbound.owesCall() && !awaitsReplies()) {
			DrainedInput drained = drained();
			if (drained != null && awaitsAnswer(drained)) {
				return false;
			}
			if (this.moreToRead || ((drained != null) ? drained.isLeft() : unanswered() == 0)) {
				// The socket still holds input that arrived while a handler was running.
				return true;
			}
			if (!hasBegun() && unanswered() == 0) {
				requestClose(drainReason(), null);
				return true;
			}
		}
		return false;
	}

	// Closing

	private Step proceedClosing(Participant me, CloseSequence end) {
		if (end.isClosed()) {
			// The previous round has failed, perhaps in this.
			return terminate(me, end);
		}
		if (this.opened && end.takeReport()) {
			return Step.FAILED;
		}
		if (this.exchanges != null && this.exchanges.close()) {
			return Step.EXCHANGES;
		}
		discardPartial(me);
		messageDeadline(NO_DEADLINE);
		return end.proceed(me.input(), this.endOfInput, nanoTime()) ? terminate(me, end) : Step.NOTHING;
	}

	/** Closes the socket. Only the report to the handler remains afterwards. */
	private Step terminate(@Nullable Participant me, CloseSequence end) {
		discardPartial(me);
		end.close();
		endExchanges();
		return endHandling() ? Step.CLOSED : Step.NOTHING;
	}

	/**
	 * Ends the handling of messages. Returns whether the caller has to report the close
	 * to the handler; otherwise a thread whose handler still runs does so.
	 */
	boolean endHandling() {
		return true;
	}

	/**
	 * The number of items that a drain waits for: the connection, which may run a
	 * handler, and the unanswered messages. Any thread.
	 */
	int undone() {
		return 1 + unanswered();
	}

	final CloseSequence closing() {
		return Objects.requireNonNull(this.closing, "nothing closes the connection");
	}

	private boolean releaseClosing(CloseSequence end) {
		Progress needs = end.needs();
		if (needs == null || (needs == Progress.DONE && this.step == Step.EXCHANGES)) {
			// The close was requested after this round was prepared, or an earlier round
			// has failed, and this one has completed its futures.
			return false;
		}
		return switch (needs) {
			case WANTS_READ -> {
				requestTimerIfEarlier();
				yield this.handle.releaseOrLookAgain();
			}
			case WANTS_WRITE -> pauseUntil(0);
			case WANTS_TIME -> {
				// The socket is readable, but is not read.
				requestTimerIfEarlier();
				yield this.handle.pause() != Release.LOOK_AGAIN;
			}
			default -> {
				// An earlier owner that could not finish may have left it open.
				this.handle.markClosed();
				yield true;
			}
		};
	}

	@Override
	public boolean failed(Participant me, Throwable failure) {
		if (!me.decoder.endMessage(me.spareBuffers)) {
			me.decoder.forget();
		}
		requestClose(CloseReason.IO_ERROR, failure);
		if (closing().failed(failure)) {
			return true;
		}
		try {
			discardPartial(null);
			endExchanges();
		}
		finally {
			closing().noteClosed();
		}
		this.handle.markClosed();
		return false;
	}

	/**
	 * Closes the connection because no thread of the pool is left. The calling thread
	 * does so itself or, if a handler still runs, closes the socket while it runs.
	 */
	@Override
	public void abandon() {
		if (this.closing == null || !this.closing.isLingering()) {
			requestClose(CloseReason.SHUTDOWN_TIMEOUT, null);
		}
		CloseSequence end = closing();
		if (this.handle.claimForLook() != Claim.CLAIMED) {
			end.abandon();
			return;
		}
		try {
			endExchanges();
			if (terminate(null, end) == Step.CLOSED) {
				end.reportClose();
				Participant.endInterrupt();
			}
		}
		catch (Throwable ex) {
			this.handle.leaveToNextOwner();
			this.handle.request(SelectableHandle.LOOK);
			throw ex;
		}
	}

}
