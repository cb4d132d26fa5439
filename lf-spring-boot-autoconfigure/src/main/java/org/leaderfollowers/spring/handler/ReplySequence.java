package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.SlowConsumerException;

/**
 * A reply of several messages. Messages are created at the pace at which the peer reads,
 * and no thread waits for the peer.
 * <p>
 * Several threads may call {@link #proceed}: the thread that starts the reply, a thread
 * that publishes a message, a thread that finds the connection writable, and the thread
 * that closes the connection. Only one of them sends at a time. It sends again if other
 * threads have called meanwhile, so no call is lost.
 * <p>
 * A peer that reads as fast as messages are created must not occupy a thread, so a turn
 * ends after some time, and the connection is asked to call again.
 */
final class ReplySequence implements Runnable {

	/**
	 * After this time, a thread sends no further message before others had their turn.
	 */
	private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	private final Replies replies;

	private final Connection connection;

	/** A copy of the message that this reply is for, if one was kept. */
	private final @Nullable ByteBuffer message;

	private final Source source;

	/** All messages of this sequence are the reply. */
	private final Replies.LaterReply reply;

	private final AtomicInteger calls = new AtomicInteger();

	// Used only by the thread that sends, of which there is one at a time

	private boolean ended;

	/** A message that was created, but could not be sent yet. */
	private @Nullable Object next;

	private long turnBeganNanos;

	private boolean isTurnOver;

	/**
	 * Whether a message was sent in this turn. Otherwise a thread that is held up again
	 * and again would never send any.
	 */
	private boolean hasSent;

	ReplySequence(Replies replies, Connection connection, @Nullable ByteBuffer message, Source source) {
		this.replies = replies;
		this.connection = connection;
		this.message = message;
		this.source = source;
		this.reply = new Replies.LaterReply(connection);
	}

	OwedReply owed() {
		return this.reply.owed();
	}

	Connection connection() {
		return this.connection;
	}

	@Nullable ByteBuffer message() {
		return this.message;
	}

	/** Sends what can be sent. If the caller cannot do this, another thread does. */
	void proceed() {
		try {
			advance();
		}
		catch (StackOverflowError | OutOfMemoryError ex) {
			try {
				ForkJoinPool.commonPool().execute(this);
			}
			catch (Throwable rejection) {
				// No thread would continue, and the reply would be owed for ever.
				abandon(ex);
			}
		}
	}

	/** Takes the place of a thread that could not send. */
	@Override
	public void run() {
		try {
			advance();
		}
		catch (Throwable ex) {
			abandon(ex);
		}
	}

	/** Ends a sequence that nobody could continue, unless another thread sends. */
	void abandon(Throwable failure) {
		if (this.calls.getAndIncrement() == 0 && !this.ended) {
			end(failure);
		}
	}

	private void advance() {
		while (this.calls.getAndIncrement() == 0) {
			boolean yields = sendInTurn();
			// After a yield, another thread may send already, because the call may come
			// at once. A connection that was closed meanwhile does not call again.
			if (!yields || (this.connection.requestWritable() && this.connection.isOpen())) {
				return;
			}
		}
	}

	/**
	 * Sends until there is nothing to send now, or the turn is over.
	 * @return whether the turn is over, and all calls until now count as none
	 */
	private boolean sendInTurn() {
		this.turnBeganNanos = System.nanoTime();
		this.isTurnOver = false;
		this.hasSent = false;
		int seen = 1;
		try {
			do {
				if (!this.ended) {
					this.reply.owed().run(this::sendWhatThePeerReads);
				}
				if (this.isTurnOver) {
					return true;
				}
				seen = this.calls.addAndGet(-seen);
			}
			while (seen != 0);
			return false;
		}
		finally {
			if (seen != 0) {
				this.calls.set(0);
			}
		}
	}

	private void sendWhatThePeerReads() {
		try {
			while (this.connection.isWritable()) {
				Object message = (this.next != null) ? this.next : this.source.poll();
				if (message == Source.END) {
					end(null);
					return;
				}
				if (message == Source.NOT_YET) {
					break;
				}
				this.next = message;
				if (this.hasSent && System.nanoTime() - this.turnBeganNanos >= TURN_NANOS) {
					this.isTurnOver = true;
					break;
				}
				try {
					this.replies.sendOne(this.connection, message);
					this.next = null;
					this.hasSent = true;
				}
				catch (SlowConsumerException ex) {
					// The message is sent when the connection is writable again. To try
					// at once would keep this thread busy until then.
					break;
				}
			}
			if (!this.connection.isOpen()) {
				end(null);
			}
		}
		catch (Throwable ex) {
			end(ex);
		}
	}

	private void end(@Nullable Throwable failure) {
		this.ended = true;
		Throwable failed = failure;
		try {
			this.source.close();
		}
		catch (Throwable ex) {
			if (failed == null) {
				failed = ex;
			}
			else {
				failed.addSuppressed(ex);
			}
		}
		try {
			this.replies.ended(this, failed);
		}
		finally {
			this.reply.end();
		}
	}

	/**
	 * Source of the messages. Used by one thread at a time.
	 */
	interface Source extends AutoCloseable {

		/** There is no further message. */
		Object END = new Object();

		/**
		 * A message may come later; the source then calls {@link ReplySequence#proceed}.
		 */
		Object NOT_YET = new Object();

		/**
		 * Begins to make messages. A failure is that of the first message. The sequence
		 * polls afterwards.
		 * @param sequence the sequence to notify of later messages
		 */
		default void start(ReplySequence sequence) {
		}

		/**
		 * Returns the next message, {@link #END} or {@link #NOT_YET}.
		 */
		@Nullable Object poll() throws Throwable;

	}

	/**
	 * Takes the messages from an iterator, each when it is needed.
	 *
	 * @param messages the iterator
	 * @param origin the object to close at the end, if it is {@link AutoCloseable}
	 */
	record Iterated(Iterator<?> messages, Object origin) implements Source {

		@Override
		public @Nullable Object poll() {
			return this.messages.hasNext() ? this.messages.next() : END;
		}

		@Override
		public void close() throws Exception {
			if (this.origin instanceof AutoCloseable closeable) {
				closeable.close();
			}
		}

	}

}
