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
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.transport.Transport;
import org.leaderfollowers.internal.transport.Transport.Progress;

/**
 * The framed connection: the concrete event handler that reads messages, calls the
 * application's {@link MessageHandler} for each, and writes its replies.
 * <p>
 * The road of a message is {@link #prepare}, where the leader reads into its own buffer
 * and decodes, {@link #dispatch}, where the handler runs on the complete messages, and
 * {@link #release}. Each round has one {@link Step} for the application at the most. The
 * way of a reply is {@link OutboundWriter}, the end is {@link CloseSequence}.
 */
class TcpConnection extends FramedConnection {

	/**
	 * Messages in a row before others get their turn: a few peers that send many must not
	 * keep all threads.
	 */
	private static final int MAX_MESSAGES = 64;

	/** How long messages are taken in a row, if there are more. */
	private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

	/** Written by the {@link ConnectionRegistry}. */
	volatile @Nullable String name;

	// The owner's

	Step step = Step.NOTHING;

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
		return this.context.registry().name(this, Arguments.notBlank("name", name));
	}

	// The road of a message: reading and decoding, by the leader

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
	public boolean prepareReplies(Participant me) {
		Exchanges current = this.exchanges;
		if (current == null || !isOnlyRead(current)) {
			return false;
		}
		boolean holds = current.holdRequests();
		this.postpones = true;
		try {
			this.step = receive(me);
			if (this.step == Step.MESSAGES) {
				keepMessage(me);
			}
			if (this.closing != null) {
				// Its futures are completed by the thread that goes on with this.
				current.close();
			}
			return this.step == Step.NOTHING && this.closing == null;
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
	public boolean hasPostponed() {
		return this.exchanges != null && (this.exchanges.hasPostponed() || this.exchanges.hasEnded());
	}

	/** Whether there is nothing to do for the application before the next message. */
	private boolean isOnlyRead(Exchanges current) {
		current.expire(nanoTime());
		return this.opened && this.closing == null && (!isDraining() || awaitsReplies())
				&& (!isHeldUp() || readsReplies()) && !this.keptWhole;
	}

	@Override
	public ByteBuffer exchange(ByteBuffer request, Duration timeout) {
		return requireExchanges().exchange(request, Arguments.positiveNanos("timeout", timeout));
	}

	@Override
	public CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, Duration timeout) {
		return requireExchanges().exchangeAsync(request, Arguments.positiveNanos("timeout", timeout));
	}

	private Exchanges requireExchanges() {
		Exchanges current = this.exchanges;
		if (current == null) {
			throw new IllegalStateException(
					"Server '%s' cannot tell replies from requests, so %s takes no exchanges: build the server with correlation(...)"
						.formatted(server(), this));
		}
		return current;
	}

	@Override
	public ByteBuffer receive(Duration timeout) {
		long nanos = Arguments.positiveNanos("timeout", timeout);
		Participant me = Participant.current();
		if (me == null || !isOwner(me)) {
			throw new IllegalStateException(
					"receive waits for the next message of %s: only its handler may call it, in the thread that runs it"
						.formatted(this));
		}
		ByteBuffer earlier = (this.exchanges != null) ? this.exchanges.takePostponed() : null;
		if (earlier != null) {
			return earlier;
		}
		if (takesNothingMore()) {
			throw inputOver();
		}
		Exchange next = Exchange.ofCaller(nanoTime() + nanos);
		ConnectionWatch watched = watch();
		watched.receiver = next;
		try {
			Participant.await(next, new NextMessage(this), this.context.clock());
		}
		finally {
			watched.receiver = null;
		}
		return switch (next.state()) {
			case REPLIED -> next.reply();
			case LOST -> throw inputOver();
			case TIMED_OUT -> throw new ExchangeTimeoutException(
					"%s has sent no message on %s within %s".formatted(remoteAddress(), this, timeout), null);
			default -> throw new ExchangeLostException("%s was interrupted while it waited for the next message of %s"
				.formatted(Thread.currentThread().getName(), this), null);
		};
	}

	/**
	 * What a handler waits for that receives.
	 */
	private record NextMessage(TcpConnection connection) implements Participant.Awaited {

		@Override
		public String peer() {
			return this.connection.server();
		}

		@Override
		public String toString() {
			return "the next message of " + this.connection;
		}

	}

	private Step nextStep(Participant me) {
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
		if (this.outbound.takeRelief()) {
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
		Step received = receive(me);
		return (received == Step.NOTHING && this.closing == null && isSilent()) ? Step.SILENT : received;
	}

	// The application

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
	 * Has the messages handled that are complete, until something forbids to go on, and
	 * writes their replies.
	 */
	private void handleMessages(Participant me) {
		MessageDecoder decoder = me.decoder;
		int messages = 0;
		do {
			noteMessage();
			this.active = true;
			try {
				if (decoder.isOversized()) {
					tellOfOversized(decoder.message());
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

	/** Completes futures, and has messages handled that were put aside. */
	private void completeExchanges(Participant me, Exchanges current) {
		current.completeEnded();
		// Neither an interrupt nor the time of the futures is that of a message.
		Participant.endInterrupt();
		me.handled(nanoTime());
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

	/** Notes how long the handler took. */
	private void messageHandled(Participant me) {
		Participant.endInterrupt();
		// A message begins when the one before it has been handled.
		this.context.counters().messageHandled(this.handle.handleSet(), me.handled(nanoTime()));
	}

	/** Gives a reply to whatever waits for it. Returns whether it was one. */
	final boolean isReply(ByteBuffer message) {
		Exchanges current = this.exchanges;
		return current != null && (current.resume(message) || current.complete(message));
	}

	/** Whether the next message is taken now. */
	private boolean takesNext(Participant me, int messages, boolean more) {
		if (isSuspended() || (this.outbound.isHigh() && !isClient())) {
			this.stalled = true;
		}
		if (isLastMessage() && !isSuspended()) {
			endInput(CloseReason.SHUTDOWN, null);
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
	 * Tells the handler of the failure now, while the buffer holds the message.
	 * @param message the message as the handler got it
	 */
	private void messageFailed(Throwable failure, ByteBuffer message) {
		Participant.endInterrupt();
		handlerFailed(failure);
		CloseSequence end = this.closing;
		if (end != null && end.cause() == failure && end.takeReport()) {
			this.outbound.uncorkOwn();
			end.reportFailure(message);
		}
	}

	// Release

	@Override
	public boolean release(Participant me) {
		if (this.closing == null && goesOn(me)) {
			return false;
		}
		// The time that has been taken already, if a message was handled: it need not be
		// more exact.
		long handled = me.takeHandledNanos();
		long now = (handled != 0) ? handled : nanoTime();
		if (this.closing == null) {
			timePart();
			checkTimeouts(now, this.active || isWorkedOn(), this.moreToRead);
			this.active = false;
		}
		CloseSequence end = this.closing;
		if (end != null) {
			return releaseClosing(end);
		}
		if (this.stalled && readsReplies()) {
			return releaseUntilInput();
		}
		if (this.stalled) {
			boolean all = this.transport.readNeeds() == Progress.WANTS_FLUSH;
			return pauseUntil(all ? 0 : this.context.limits().lowWaterMark());
		}
		return releaseUntilInput();
	}

	/** Whether there is more to do at once. */
	boolean goesOn(Participant me) {
		boolean draining = isDraining();
		if (draining && !this.opened) {
			requestClose(CloseReason.SHUTDOWN, null);
			return true;
		}
		boolean isTurnOver = this.step == Step.EXCHANGES && this.stalled && hasPostponed();
		if ((this.step.isFollowed() && !isTurnOver) || this.readBetween
				|| (this.exchanges != null && this.exchanges.hasEnded())) {
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
				// No event tells of it: others get their turn, then it is looked at
				// again.
				this.stalled = true;
				return false;
			}
		}
		if (draining && !this.outbound.isCongested() && !awaitsReplies()) {
			if (this.moreToRead || (drained() == null && unanswered() == 0)) {
				// What came while a handler was running is still in the socket.
				return true;
			}
			if (this.partial == null && unanswered() == 0) {
				requestClose(CloseReason.SHUTDOWN, null);
				return true;
			}
		}
		return false;
	}

	// Closing

	private Step proceedClosing(Participant me, CloseSequence end) {
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

	/** Closes the socket. Nothing of the connection is left but to tell its handler. */
	private Step terminate(@Nullable Participant me, CloseSequence end) {
		discardPartial(me);
		end.close();
		if (this.exchanges != null) {
			this.exchanges.discardPostponed();
		}
		boolean isLast = endHandling();
		if (this.opened) {
			return isLast ? Step.CLOSED : Step.NOTHING;
		}
		end.noteClosed();
		return Step.NOTHING;
	}

	/**
	 * No further message is handled. Returns whether the caller is to tell the handler
	 * that the connection is closed; otherwise another thread does, whose handler runs.
	 */
	boolean endHandling() {
		return true;
	}

	/**
	 * How much of it a drain waits for: the connection, which may run a handler, and what
	 * is owed. Any thread.
	 */
	int undone() {
		return 1 + unanswered();
	}

	final CloseSequence closing() {
		return Objects.requireNonNull(this.closing, "nothing closes the connection");
	}

	private boolean releaseClosing(CloseSequence end) {
		Progress needs = end.needs();
		if (needs == null) {
			// It was requested after this round was prepared.
			return false;
		}
		return switch (needs) {
			case WANTS_READ -> {
				requestTimerIfEarlier();
				yield this.handle.releaseOrLookAgain();
			}
			case WANTS_WRITE -> pauseUntil(0);
			default -> true;
		};
	}

	@Override
	public boolean failed(Participant me, Throwable failure) {
		me.decoder.forget();
		requestClose(CloseReason.IO_ERROR, failure);
		CloseSequence end = this.closing;
		if (end != null && !end.isClosed() && end.cutShort()) {
			return true;
		}
		if (!this.handle.isMarkedClosed()) {
			this.handle.closeByOwner();
		}
		endExchanges();
		this.context.closed(this, CloseReason.IO_ERROR);
		return false;
	}

	/**
	 * Closes the connection because there is no thread to do it: by the calling thread,
	 * or if its handler still runs, by closing the socket under it.
	 */
	@Override
	public void abandon() {
		CloseSequence end = this.closing;
		if (end == null || !end.isLingering()) {
			requestClose(CloseReason.SHUTDOWN_TIMEOUT, null);
			end = this.closing;
		}
		if (end != null && this.handle.claimForLook() == Claim.CLAIMED) {
			endExchanges();
			if (terminate(null, end) == Step.CLOSED) {
				end.reportClose();
				Participant.endInterrupt();
			}
		}
		else {
			this.handle.closeChannel();
		}
	}

}
