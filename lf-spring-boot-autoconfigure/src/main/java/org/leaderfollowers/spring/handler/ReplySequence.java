package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.SlowConsumerException;
import org.leaderfollowers.Suspension;

/**
 * A reply of several messages: as many are made as the peer reads, and no thread waits
 * for it meanwhile.
 * <p>
 * Each thread that may have something to do calls {@link #proceed}: the one that has the
 * reply, the one that publishes a message, the one that finds that the peer has caught
 * up, and the one that closes the connection. One of them does it, and does it again if
 * others have called in the meantime.
 */
final class ReplySequence {

	private final Replies replies;

	private final Connection connection;

	/** A copy of the message that is replied to, if it was kept. */
	private final @Nullable ByteBuffer message;

	private final Source source;

	/** The next message is not handled before the last of these was sent. */
	private final Suspension suspension;

	/** What it sends counts as the reply to its message. */
	private final OwedReply owed;

	private final AtomicInteger calls = new AtomicInteger();

	// Of the thread that proceeds

	private boolean ended;

	/** Made already, but not taken by the connection. */
	private @Nullable Object refused;

	ReplySequence(Replies replies, Connection connection, @Nullable ByteBuffer message, Source source) {
		this.replies = replies;
		this.connection = connection;
		this.message = message;
		this.source = source;
		this.suspension = connection.suspend();
		this.owed = connection.owe();
	}

	OwedReply owed() {
		return this.owed;
	}

	Connection connection() {
		return this.connection;
	}

	@Nullable ByteBuffer message() {
		return this.message;
	}

	void proceed() {
		if (this.calls.getAndIncrement() != 0) {
			return;
		}
		int seen = 1;
		do {
			if (!this.ended) {
				this.owed.run(this::sendWhatThePeerReads);
			}
			seen = this.calls.addAndGet(-seen);
		}
		while (seen != 0);
	}

	private void sendWhatThePeerReads() {
		try {
			while (this.connection.isWritable()) {
				Object message = (this.refused != null) ? this.refused : this.source.poll(this);
				if (message == Source.END) {
					end(null);
					return;
				}
				if (message == Source.NOT_YET) {
					break;
				}
				this.refused = message;
				try {
					this.replies.sendOne(this.connection, message);
					this.refused = null;
				}
				catch (SlowConsumerException ex) {
					// Somebody else has sent so much meanwhile. It is written later.
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
			this.suspension.resume();
			this.owed.close();
		}
	}

	/**
	 * Where the messages come from. Used by one thread at a time.
	 */
	interface Source extends AutoCloseable {

		/** There is no further message. */
		Object END = new Object();

		/** A message may come later: {@link ReplySequence#proceed} is called then. */
		Object NOT_YET = new Object();

		/**
		 * Returns the next message, {@link #END} or {@link #NOT_YET}.
		 * @param sequence what to tell of messages that come later
		 */
		@Nullable Object poll(ReplySequence sequence) throws Throwable;

	}

	/**
	 * Makes the messages when they are asked for.
	 *
	 * @param messages makes them
	 * @param origin what to close at the end, if it can be closed
	 */
	record Iterated(Iterator<?> messages, Object origin) implements Source {

		@Override
		public @Nullable Object poll(ReplySequence sequence) {
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
