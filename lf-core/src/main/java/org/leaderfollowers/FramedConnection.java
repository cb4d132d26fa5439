package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.transport.Transport;

/**
 * The part of a TCP connection that decodes messages from its input, and passes replies
 * to the threads that wait for them. There are three kinds of readers: a thread that also
 * runs the handlers, a thread that leads while it waits for a reply, and the owner in the
 * middle of a handler. Only the owner of the handle uses it, one thread at a time.
 */
abstract class FramedConnection extends InboundConnection implements BoundInput.BoundConnection {

	/** The maximum number of reads in a row before other handles get their turn. */
	static final int MAX_READS = 16;

	Step step = Step.NOTHING;

	/** Whether messages for the handler are kept for later. */
	boolean postpones;

	/**
	 * Whether a complete message may have been kept, because it was read by a thread that
	 * waits for a reply, or after a message that is handled in parallel.
	 */
	boolean keptWhole;

	/** Whether the owner has read in the middle of a handler. */
	boolean readBetween;

	/** Whether the owner is reading in the middle of a handler. */
	private boolean readsBetween;

	FramedConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			@Nullable InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context, channel, transport, localAddress, transportAddress);
	}

	/** Reads, unless the connection takes no messages now. */
	final Step receive(Participant me) {
		if (isHeldUp() || ending() != null || (!this.postpones && comesSomethingFirst())) {
			this.stalled = true;
			this.stalledByPeer = false;
			messageDeadline(NO_DEADLINE);
			return readsReplies() ? receiveReplies(me) : Step.NOTHING;
		}
		boolean keptFirst = mayKeepWhole();
		this.keptWhole = false;
		if (this.stalled) {
			if (!this.outbound.isLow() && !isClient()) {
				return Step.NOTHING;
			}
			this.stalled = false;
			noteReading();
			if (endsWhenResumed()) {
				// The connection was suspended, and its last message has been answered
				// since.
				endInput(drainReason(), null);
				return Step.NOTHING;
			}
			restartAfterStall(nanoTime());
		}
		return receive(me, !keptFirst);
	}

	/**
	 * Whether the handler has to be called for something else before the next message.
	 * The owner has checked this before, but since then the last owed reply may have come
	 * or a suspension may have ended.
	 */
	private boolean comesSomethingFirst() {
		return mayBeginToDrain() || (this.exchanges != null && this.exchanges.hasPostponed());
	}

	@Override
	final boolean readsReplies() {
		return isSuspended() && !takesNothingMore() && !this.keptWhole && this.exchanges != null
				&& this.exchanges.pending() > 0 && this.exchanges.mayPostpone();
	}

	/** Whether the application has nothing to do before the next message. */
	final boolean isOnlyRead(Exchanges current) {
		current.expire(nanoTime());
		return this.opened && this.closing == null && (!isDraining() || awaitsReplies())
				&& (!isHeldUp() || readsReplies()) && !this.keptWhole;
	}

	/**
	 * If a silence is to be reported to the handler, leaves this to the next thread that
	 * {@linkplain #takeUp takes it up}: the owner waits in another handler.
	 */
	final void postponeSilence() {
		ConnectionWatch watched = this.watch;
		if (watched != null) {
			watched.isPostponed = isSilent();
		}
	}

	/** Called by an owner that can call the handler. */
	final void takeUp() {
		this.waitsElsewhere = false;
		ConnectionWatch watched = this.watch;
		if (watched != null && watched.isPostponed) {
			watched.isPostponed = false;
		}
	}

	@Override
	public boolean hasPostponed() {
		ConnectionWatch watched = this.watch;
		return hasPostponedExchanges() || this.outbound.isRelieved() || (watched != null && watched.isPostponed);
	}

	@Override
	public final boolean keepPlace(HandleSet set) {
		return (!this.stalled || readsReplies()) && watch().keepPlace(this.handle, set);
	}

	/** Whether messages, or the ends of exchanges, wait for a thread. */
	final boolean hasPostponedExchanges() {
		return this.exchanges != null && (this.exchanges.hasPostponed() || this.exchanges.hasEnded());
	}

	/**
	 * Reads replies. Messages for the handler are kept for later, or the next one stays
	 * undecoded.
	 */
	private Step receiveReplies(Participant me) {
		this.postpones = true;
		try {
			Step read = receive(me, this.partial == null);
			if (read == Step.MESSAGES) {
				keepMessage(me);
			}
			return (read == Step.TASKS) ? read : Step.NOTHING;
		}
		finally {
			this.postpones = false;
		}
	}

	/** Whether messages for the handler may be kept, to be handled later. */
	boolean putsAside() {
		return true;
	}

	/**
	 * Whether the connection ends when it is resumed, because its last message was taken
	 * before the pause.
	 */
	boolean endsWhenResumed() {
		return isLastMessage();
	}

	/**
	 * Reads until a message is complete or the socket is empty.
	 * @param readFirst whether to read before decoding
	 */
	private Step receive(Participant me, boolean readFirst) {
		boolean reads = readFirst;
		this.moreToRead = false;
		boolean more = true;
		while (more) {
			PartialMessage whole = reads ? null : this.partial;
			if (whole != null) {
				me.decoder.begin(whole);
			}
			else {
				ByteBuffer input = me.decoder.begin(this.partial, me.input(), this.context.limits().frameSize(),
						me.spareBuffers);
				if (input == null) {
					requestClose(CloseReason.OVERLOADED, null);
					return Step.NOTHING;
				}
				int room = Math.min(input.remaining(), Participant.BUFFER_SIZE);
				DrainedInput drained = drained();
				if (drained != null && !this.postpones && !takesMore(drained)) {
					endInput(drainReason(), null);
					return Step.NOTHING;
				}
				int count = read(input, room);
				me.turn.countRead();
				if (count <= 0) {
					if (drained != null && !this.transport.hasMoreInput()
							&& this.transport.readNeeds() == Transport.Progress.WANTS_READ) {
						// The transport holds nothing that it cannot decode yet.
						drained.end();
					}
					return (count == 0) ? readNeeds() : Step.NOTHING;
				}
				more = count == room || this.transport.hasMoreInput();
				me.decoder.endRead();
			}
			reads = true;
			if (decode(me.decoder) && !resume(me.decoder)) {
				this.moreToRead = more;
				return Step.MESSAGES;
			}
			if (takesNothingMore()) {
				return Step.NOTHING;
			}
			keepRest(me);
			if (this.closing != null || me.turn.reads() >= MAX_READS || this.keptWhole || !mayTakeMore()) {
				this.keptWhole |= this.postpones && this.partial != null;
				this.moreToRead = more;
				return Step.NOTHING;
			}
		}
		return Step.NOTHING;
	}

	/**
	 * Whether to read again although the connection drains. A reply to a request of this
	 * side may come after any number of messages, and so may the answer to a sign-off.
	 */
	private boolean takesMore(DrainedInput drained) {
		if (awaitsAnswer(drained)) {
			return true;
		}
		drained.measure((SocketChannel) this.handle.channel(), this.transport);
		return drained.allowsRead(hasBegun()) || awaitsReplies();
	}

	/**
	 * Passes replies to the threads that wait for them, without running code of the
	 * application.
	 * @return {@code false} if a message was decoded that must be dispatched
	 */
	private boolean resume(MessageDecoder decoder) {
		boolean decoded = true;
		while (decoded && !decoder.isOversized() && isTaken(decoder.message())) {
			noteMessage();
			decoded = decoder.consume() && decodeNext(decoder);
		}
		return !decoded;
	}

	/**
	 * Decodes another message, unless it must stay in the input. This is decided once:
	 * the answer can change at any time, and a message that stays must count as kept.
	 */
	private boolean decodeNext(MessageDecoder decoder) {
		if (!mayTakeMore()) {
			this.keptWhole = true;
			return false;
		}
		return decode(decoder);
	}

	/** Whether another message may be decoded while no handlers can be run. */
	private boolean mayTakeMore() {
		if (!this.postpones) {
			return true;
		}
		Exchanges current = this.exchanges;
		return (current != null) ? mayPutAside(current) : isReceiving();
	}

	/**
	 * Whether another message for the handler may be kept. If the connection drains, only
	 * a reply that may follow is a reason to do so. Otherwise a peer that continues to
	 * send could delay the drain, because it begins when no message is kept.
	 */
	private boolean mayPutAside(Exchanges current) {
		return current.mayPostpone() && (!isDraining() || current.pending() > 0);
	}

	/**
	 * Whether a thread that waits in a handler reads. If the connection drains, it reads
	 * only for a reply or a message that a thread waits for. All other input stays in the
	 * socket until the handler has returned, as if the server had no correlation.
	 */
	private boolean readsWhileWaiting() {
		Exchanges current = this.exchanges;
		return isReceiving() || (current != null && (!isDraining() || current.pending() > 0));
	}

	private boolean isTaken(ByteBuffer message) {
		Exchanges current = this.exchanges;
		boolean isReply = current != null && current.hasFound();
		if (current != null && current.resume(message)) {
			return true;
		}
		return this.postpones && ((!isReply && isReceived(message))
				|| (current != null && current.postpone(message, !putsAside() || !mayPutAside(current))));
	}

	/** Decodes the next message. Returns whether there is a message to handle. */
	final boolean decode(MessageDecoder decoder) {
		ConnectionContext.Limits limits = this.context.limits();
		try {
			if (!skip(decoder)) {
				return false;
			}
			Framing.Frame kept = takeKept();
			MessageDecoder.Decoded decoded = (kept != null) ? decoder.again(kept)
					: decoder.next(framing(), limits.maxMessageSize(), limits.frameSize(), limits.skipsOversized());
			if (decoded == MessageDecoder.Decoded.OVERSIZED) {
				beginToSkip(decoder.left());
				return true;
			}
			if (decoded == MessageDecoder.Decoded.TOO_LARGE) {
				endInput(CloseReason.MESSAGE_TOO_LARGE,
						new FramingException(
								"A message is larger than the maximum message size of %d bytes (maxMessageSize)"
									.formatted(limits.maxMessageSize())));
			}
			if (decoded == MessageDecoder.Decoded.MESSAGE && kept == null && this.exchanges != null) {
				this.exchanges.find(decoder.message());
			}
			return decoded == MessageDecoder.Decoded.MESSAGE;
		}
		catch (Throwable ex) {
			endInput(CloseReason.MALFORMED, ex);
			return false;
		}
	}

	private Framing.@Nullable Frame takeKept() {
		ConnectionWatch watched = this.watch;
		Framing.Frame kept = (watched != null) ? watched.kept : null;
		if (kept != null) {
			watched.kept = null;
		}
		return kept;
	}

	/**
	 * Whether this side is a client. A client reads replies however many of its requests
	 * wait, because the peer may read no request before its replies are read.
	 */
	final boolean isClient() {
		return this.context.isClient();
	}

	/** Keeps the input that was read but not dispatched, in separate memory. */
	final void keepRest(Participant me) {
		PartialMessage left = null;
		try {
			left = me.decoder.keepRest(this.context.clock(), this.context.limits().frameSize(), me.spareBuffers);
		}
		catch (MemoryBudget.ExhaustedException ex) {
			requestClose(CloseReason.OVERLOADED, null);
		}
		keep(left);
	}

	// The service class

	/** Lets the connection choose its service class before it is opened. */
	final void chooseClass(ServiceClasses classes) {
		try {
			move(classes.choose(this));
		}
		catch (Throwable ex) {
			requestClose(CloseReason.HANDSHAKE_FAILED, ex);
		}
	}

	/**
	 * Lets the connection choose its service class before its first message is handled.
	 * @param classes what it chooses from
	 * @param first the message
	 * @param decoded whether the message was just decoded, and not kept yet
	 * @return whether the connection moves or closes, so that the calling thread does not
	 * handle the message
	 */
	final boolean leavesPool(Participant me, ServiceClasses classes, ByteBuffer first, boolean decoded) {
		Step during = this.step;
		this.step = Step.CLASSIFY;
		ConnectionContext chosen;
		try {
			chosen = classes.choose(this, first);
		}
		catch (Throwable ex) {
			messageFailed(ex, first);
			return true;
		}
		finally {
			this.step = during;
		}
		boolean stays = chosen.pool() == this.context.pool();
		if (!stays && decoded && this.closing == null) {
			keepMessage(me);
		}
		if (this.closing == null) {
			move(chosen);
		}
		return !stays || this.closing != null;
	}

	/** Moves to another context. The calling thread then releases the connection. */
	private void move(ConnectionContext chosen) {
		if (chosen.pool() == this.context.pool()) {
			this.context = chosen;
			return;
		}
		try {
			chosen.pool().start();
		}
		catch (IllegalStateException ex) {
			requestClose(CloseReason.SHUTDOWN, null);
			return;
		}
		if (!chosen.server().enter(() -> enter(chosen))) {
			requestClose(CloseReason.SHUTDOWN, null);
		}
	}

	/** Enters another context, with all memory. */
	private void enter(ConnectionContext chosen) {
		long kept = (this.partial != null) ? this.partial.capacity() : 0;
		kept += (this.exchanges != null) ? this.exchanges.postponedBytes() : 0;
		if (this.outbound.transfer(chosen.memory()) && this.context.memory().transfer(kept, chosen.memory())) {
			this.context = chosen;
			this.step = Step.MOVED;
			return;
		}
		// Before the context is replaced, because this memory was not transferred.
		discardPartial(null);
		if (this.exchanges != null) {
			this.exchanges.discardPostponed();
		}
		// The log then names the pool whose memory is used up.
		this.context = chosen;
		requestClose(CloseReason.OVERLOADED, null);
	}

	/**
	 * Passes the connection to the pool that it has chosen. The calling thread must not
	 * use it any more. It still counts as owned, so that no thread of this pool claims
	 * it, until the leader has moved it.
	 */
	final void passOn() {
		this.step = Step.NOTHING;
		if (this.opened) {
			// The message is complete, and waits for a thread.
			messageDeadline(NO_DEADLINE);
		}
		noteActivity(nanoTime());
		this.handle.request(SelectableHandle.MOVE);
	}

	@Override
	public final void moveOut() {
		this.context.pool().adopt(this.handle);
	}

	// Called by the owner in the middle of a handler: see BoundInput

	/**
	 * Also counts the waiting handler and messages that were kept, because both still
	 * have to answer. If the input ends now, the connection is closed only after that.
	 */
	@Override
	int unanswered() {
		int aside = (this.exchanges != null && this.exchanges.hasPostponed()) ? 1 : 0;
		return super.unanswered() + (this.readsBetween ? 1 : 0) + aside;
	}

	/** Keeps the message that was decoded last, to be handled later. */
	final void keepMessage(Participant me) {
		watch().kept = me.decoder.putBack();
		if (me.decoder.isOversized()) {
			// The rest is skipped later.
			beginToSkip(0);
		}
		keepRest(me);
		this.keptWhole = true;
		this.moreToRead = false;
	}

	@Override
	public final boolean keepsInput(Participant me) {
		// If this turn has read nothing, the transport may still hold input that no event
		// will report: the end of a TLS handshake can come together with a message.
		boolean keeps = this.moreToRead || (!this.readBetween && me.turn.reads() == 0);
		if (me.handle() == this.handle && me.decoder.holdsRest()) {
			try {
				this.partial = me.decoder.takeRest(this.context.clock(), this.context.limits().frameSize(),
						me.spareBuffers);
				this.keptWhole = this.partial != null;
			}
			catch (MemoryBudget.ExhaustedException ex) {
				this.partial = null;
				requestClose(CloseReason.OVERLOADED, null);
				keeps = true;
			}
		}
		return keeps || mayKeepWhole() || takesNothingMore();
	}

	/** Whether a complete message may be kept. A pause keeps all that was read. */
	private boolean mayKeepWhole() {
		return this.keptWhole || (this.stalled && this.partial != null);
	}

	@Override
	public final boolean mayReadOn() {
		return !takesNothingMore() && !this.keptWhole && readsWhileWaiting();
	}

	@Override
	public final boolean readBound(Participant me) {
		if (!takesNothingMore() && !readsWhileWaiting()) {
			// The next round reads this input. Exchanges.send calls this method again.
			this.readBetween = true;
			return false;
		}
		Exchanges current = this.exchanges;
		boolean holds = current != null && current.holdRequests();
		boolean first = !mayKeepWhole();
		this.readBetween = true;
		this.keptWhole = false;
		this.postpones = true;
		this.readsBetween = true;
		try {
			Step read = !takesNothingMore() ? receive(me, first) : Step.NOTHING;
			if (read == Step.MESSAGES) {
				keepMessage(me);
			}
			this.moreToRead &= !takesNothingMore();
			return read == Step.TASKS;
		}
		catch (Throwable ex) {
			// For example because memory is short. The input that was read is lost.
			requestClose(CloseReason.IO_ERROR, ex);
			throw ex;
		}
		finally {
			this.postpones = false;
			this.readsBetween = false;
			me.decoder.forget();
			if (holds) {
				current.letRequestsGo();
			}
			if (takesNothingMore()) {
				// The input may have ended because a request could not be written.
				endWaits();
			}
		}
	}

	@Override
	public BoundInput.@Nullable BoundConnection boundConnection() {
		ConnectionWatch watched = this.watch;
		// While the class is being chosen, the message is not kept yet.
		boolean expects = this.step != Step.CLASSIFY
				&& (this.exchanges != null || (watched != null && watched.receiver != null));
		return expects ? this : null;
	}

	@Override
	public final SelectableHandle handle() {
		return this.handle;
	}

	@Override
	public final void readBy(@Nullable BoundInput reader) {
		watch().reader = reader;
	}

	@Override
	public final void runTasks() {
		this.transport.runTasks();
	}

	@Override
	public final boolean hasMoreToRead() {
		return this.moreToRead && mayReadOn();
	}

	@Override
	public final void ownerLooksAgain() {
		ConnectionWatch watched = this.watch;
		BoundInput reader = (watched != null) ? watched.reader : null;
		if (reader != null) {
			reader.look();
		}
	}

	/**
	 * Passes the message to a handler that waits for the next one. Called by the owner
	 * only.
	 */
	final boolean isReceived(ByteBuffer message) {
		return isReceiving() && watch().receiver.reply(Exchanges.copy(message));
	}

	/** Whether a handler waits for the next message. Called by the owner only. */
	private boolean isReceiving() {
		ConnectionWatch watched = this.watch;
		Exchange receiver = (watched != null) ? watched.receiver : null;
		return receiver != null && receiver.state() == State.PENDING;
	}

	/** Ends every wait for input, because the connection ends. */
	final void endWaits() {
		ConnectionWatch watched = this.watch;
		if (watched != null && watched.receiver != null) {
			watched.receiver.end(State.LOST);
		}
		if (this.exchanges != null) {
			// The futures are completed after the handler has returned.
			this.exchanges.close();
		}
	}

}
