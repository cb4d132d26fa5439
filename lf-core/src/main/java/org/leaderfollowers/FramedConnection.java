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
 * The part of a TCP connection that makes messages of its input, and gives replies to the
 * threads that wait for them. It is read in three ways: by a thread that has handlers
 * run, by one that waits for a reply itself and leads, and by the owner in the middle of
 * a handler. It belongs to the owner of the handle, one thread at a time.
 */
abstract class FramedConnection extends InboundConnection implements BoundInput.BoundConnection {

	/** Reads in a row before others get their turn. */
	static final int MAX_READS = 16;

	/** Whether the socket may hold more than was read. */
	boolean moreToRead;

	/** Whether messages for the handler are put aside. */
	boolean postpones;

	/**
	 * Whether a whole message may have been kept: it was read by a thread that waits
	 * itself, or behind one that is handled in parallel.
	 */
	boolean keptWhole;

	/** Whether its thread has read it in the middle of a handler. */
	boolean readBetween;

	/** Whether its thread reads it in the middle of a handler now. */
	private boolean readsBetween;

	FramedConnection(ConnectionContext context, SocketChannel channel, Transport transport,
			@Nullable InetSocketAddress localAddress, InetSocketAddress transportAddress) {
		super(context, channel, transport, localAddress, transportAddress);
	}

	/** Reads, unless no messages are taken now. */
	final Step receive(Participant me) {
		if (isHeldUp() || ending() != null || (!this.postpones && comesSomethingFirst())) {
			this.stalled = true;
			messageDeadline(NO_DEADLINE);
			return readsReplies() ? receiveReplies(me) : Step.NOTHING;
		}
		boolean keptFirst = this.keptWhole;
		this.keptWhole = false;
		if (this.stalled) {
			if (!this.outbound.isLow() && !isClient()) {
				return Step.NOTHING;
			}
			this.stalled = false;
			noteReading();
			if (endsWhenResumed()) {
				// It was suspended, and has been answered meanwhile.
				endInput(CloseReason.SHUTDOWN, null);
				return Step.NOTHING;
			}
			if (isSkipping()) {
				beginToSkip(watch().skipped);
			}
			if (this.partial != null) {
				// It waited for its peer to read, not for its rest.
				this.partial.restart(nanoTime());
				keptFirst = true;
			}
		}
		return receive(me, !keptFirst);
	}

	/**
	 * Whether the handler gets something else before the next message. The owner has
	 * looked for that before, but the last reply that was owed, or the end of a
	 * suspension, may have come since.
	 */
	private boolean comesSomethingFirst() {
		return mayBeginToDrain() || (this.exchanges != null && this.exchanges.hasPostponed());
	}

	@Override
	final boolean readsReplies() {
		return isSuspended() && !takesNothingMore() && !this.keptWhole && this.exchanges != null
				&& this.exchanges.pending() > 0 && this.exchanges.mayPostpone();
	}

	/** Reads, and puts messages for the handler aside, or keeps the next one. */
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

	/** Whether messages for the handler may be put aside, to be handled later. */
	boolean putsAside() {
		return true;
	}

	/** Whether no message is taken after a pause, since the one before was the last. */
	boolean endsWhenResumed() {
		return isLastMessage();
	}

	/**
	 * Reads until a message is complete or there is no more.
	 * @param readFirst whether something is read before anything is decoded
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
				if (drained != null && !this.postpones && !drained.allowsRead(this.partial != null)) {
					endInput(CloseReason.SHUTDOWN, null);
					return Step.NOTHING;
				}
				int count = read(input, room);
				me.turn.countRead();
				if (count <= 0) {
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
			if (this.closing != null || me.turn.reads() >= MAX_READS || !mayTakeMore()) {
				this.keptWhole |= this.postpones && this.partial != null;
				this.moreToRead = more;
				return Step.NOTHING;
			}
		}
		return Step.NOTHING;
	}

	/**
	 * Gives replies to the threads that wait for them: no code of the application runs
	 * for these.
	 * @return {@code false} if a message has been decoded that is to be dispatched
	 */
	private boolean resume(MessageDecoder decoder) {
		boolean decoded = true;
		while (decoded && !decoder.isOversized() && isTaken(decoder.message())) {
			noteMessage();
			decoded = decoder.consume() && mayTakeMore() && decode(decoder);
		}
		return !decoded;
	}

	/** Whether another message has a place, if handlers are not run now. */
	private boolean mayTakeMore() {
		if (!this.postpones) {
			return true;
		}
		Exchanges current = this.exchanges;
		return (current != null) ? current.mayPostpone() : isReceiving();
	}

	private boolean isTaken(ByteBuffer message) {
		Exchanges current = this.exchanges;
		boolean isReply = current != null && current.hasFound();
		if (current != null && current.resume(message)) {
			return true;
		}
		return this.postpones
				&& ((!isReply && isReceived(message)) || (current != null && current.postpone(message, !putsAside())));
	}

	/** Decodes the next message. Returns whether there is one to be handled. */
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
	 * Whether replies are read however many requests wait: the peer may read none of
	 * these before its replies are read.
	 */
	final boolean isClient() {
		return this.context.isClient();
	}

	/** Keeps what was read and not dispatched, in memory of its own. */
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

	// In the middle of a handler, by its own thread: see BoundInput

	/**
	 * The handler that waits is to answer, and so are those of messages that are put
	 * aside: if the input ends now, the connection is closed afterwards.
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
			// The rest of it is left out later.
			beginToSkip(0);
		}
		keepRest(me);
		this.keptWhole = true;
		this.moreToRead = false;
	}

	@Override
	public final boolean keepsInput(Participant me) {
		// If this turn has read nothing, the transport may still hold input, for which
		// there is no event: the end of a TLS handshake can come with a message.
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
		return keeps || this.keptWhole || takesNothingMore();
	}

	@Override
	public final boolean mayReadOn() {
		return !takesNothingMore() && !this.keptWhole && (this.exchanges != null || isReceiving());
	}

	@Override
	public final boolean readBound(Participant me) {
		Exchanges current = this.exchanges;
		boolean holds = current != null && current.holdRequests();
		boolean first = !this.keptWhole;
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
			// Out of memory, for example: what was read is lost.
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
				// Perhaps because a request could not be written.
				endWaits();
			}
		}
	}

	@Override
	public BoundInput.@Nullable BoundConnection boundConnection() {
		ConnectionWatch watched = this.watch;
		boolean expects = this.exchanges != null || (watched != null && watched.receiver != null);
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

	/** Gives the message to the handler that waits for the next one. The owner's. */
	final boolean isReceived(ByteBuffer message) {
		return isReceiving() && watch().receiver.reply(Exchanges.copy(message));
	}

	/** Whether a handler waits for the next message. The owner's. */
	private boolean isReceiving() {
		ConnectionWatch watched = this.watch;
		Exchange receiver = (watched != null) ? watched.receiver : null;
		return receiver != null && receiver.state() == State.PENDING;
	}

	/** The connection ends: so does every wait for something that would come on it. */
	final void endWaits() {
		ConnectionWatch watched = this.watch;
		if (watched != null && watched.receiver != null) {
			watched.receiver.end(State.LOST);
		}
		if (this.exchanges != null) {
			// Futures are completed when the handler has returned.
			this.exchanges.close();
		}
	}

}
