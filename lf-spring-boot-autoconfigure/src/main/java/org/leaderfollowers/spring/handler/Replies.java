package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.BaseStream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.Suspension;
import org.leaderfollowers.spring.handler.ReplySequence.Iterated;

/**
 * Sends the replies that handler methods return.
 */
final class Replies {

	private final PayloadWriter writer;

	/** Whether any method or error handler takes the message of a failure. */
	private final boolean keepsMessages;

	/** Handles the failures of replies that come later. */
	private final FailureSink failures;

	/** Replies of several messages that are not completely sent. */
	private final Map<Connection, Set<ReplySequence>> sequences = new ConcurrentHashMap<>();

	/**
	 * Handles failures that happen after the handler method has returned.
	 */
	@FunctionalInterface
	interface FailureSink {

		/**
		 * Handles the failure of a reply.
		 * @param reply the reply that is owed to the client
		 * @param message a copy of the message that the reply is for, if one was kept
		 */
		void failed(Connection connection, OwedReply reply, @Nullable ByteBuffer message, Throwable failure);

	}

	Replies(PayloadWriter writer, boolean keepsMessages, FailureSink failures) {
		this.writer = writer;
		this.keepsMessages = keepsMessages;
		this.failures = failures;
	}

	/**
	 * Sends a reply. A reply that comes later is sent when it is complete, and a reply of
	 * several messages at the pace at which the peer reads.
	 */
	void send(Connection connection, @Nullable Object reply) {
		send(connection, reply, null);
	}

	/**
	 * Sends a reply to a message.
	 * @param message the {@linkplain #keep kept} copy of the message, if there is one
	 */
	void send(Connection connection, @Nullable Object reply, @Nullable ByteBuffer message) {
		if (reply instanceof String string) {
			connection.send(this.writer.encode(string));
		}
		else if (reply != null) {
			sendOther(connection, reply, message);
		}
	}

	/**
	 * Copies a message if its reply may fail later, when the buffer holds another
	 * message.
	 * @param message the message, at any position
	 * @param start the index of its first byte
	 * @param end the index after its last byte
	 * @return a copy, or {@code null} if no copy is needed
	 */
	@Nullable ByteBuffer keep(@Nullable Object reply, ByteBuffer message, int start, int end) {
		if (!this.keepsMessages) {
			return null;
		}
		boolean later = reply instanceof CompletionStage<?> || reply instanceof BaseStream<?, ?>
				|| reply instanceof Iterator<?> || reply instanceof Iterable<?> || reply instanceof Optional<?>
				|| (reply != null && ReplyTypes.isReactive(reply.getClass()));
		if (!later) {
			return null;
		}
		return ByteBuffer.wrap(Text.bytes(message.duplicate().limit(end).position(start))).mark();
	}

	private void sendOther(Connection connection, Object reply, @Nullable ByteBuffer message) {
		if (reply instanceof Optional<?> optional) {
			send(connection, optional.orElse(null), message);
		}
		else if (reply instanceof CompletionStage<?> stage) {
			sendLater(connection, stage.toCompletableFuture(), message);
		}
		else if (reply instanceof BaseStream<?, ?> stream) {
			begin(connection, message, new Iterated(stream.iterator(), stream));
		}
		else if (reply instanceof Iterator<?> iterator) {
			begin(connection, message, new Iterated(iterator, iterator));
		}
		else if (reply instanceof Iterable<?> iterable && !(reply instanceof Path) && !this.writer.isTree(reply)) {
			begin(connection, message, new Iterated(iterable.iterator(), iterable));
		}
		else if (ReplyTypes.isReactive(reply.getClass())) {
			begin(connection, message, PublishedMessages.of(reply));
		}
		else {
			connection.send(this.writer.write(connection, reply));
		}
	}

	/** Sends one message of a reply of several messages. */
	void sendOne(Connection connection, @Nullable Object element) {
		Object reply = (element instanceof Optional<?> optional) ? optional.orElse(null) : element;
		if (reply instanceof String string) {
			connection.send(this.writer.encode(string));
		}
		else if (reply != null) {
			connection.send(this.writer.write(connection, reply));
		}
	}

	private void sendLater(Connection connection, CompletableFuture<?> future, @Nullable ByteBuffer message) {
		if (future.isDone() && !future.isCompletedExceptionally()) {
			send(connection, future.join(), message);
			return;
		}
		LaterReply later = new LaterReply(connection);
		boolean begun = false;
		try {
			future.handle((reply, failure) -> {
				OwedReply owed = later.owed();
				owed.run(() -> complete(connection, owed, message, reply, failure));
				later.end();
				return null;
			}).exceptionallyAsync((thrown) -> {
				// Memory is short, or the thread that has completed the future has used
				// up its stack: nothing can be sent there.
				try {
					OwedReply owed = later.owed();
					owed.run(() -> this.failures.failed(connection, owed, message, unwrap(thrown)));
				}
				finally {
					later.end();
				}
				return null;
			});
			begun = true;
		}
		finally {
			if (!begun) {
				later.end();
			}
		}
	}

	private void complete(Connection connection, OwedReply owed, @Nullable ByteBuffer message, @Nullable Object reply,
			@Nullable Throwable failure) {
		try {
			if (failure != null) {
				this.failures.failed(connection, owed, message, unwrap(failure));
			}
			else {
				send(connection, reply, message);
			}
		}
		catch (Throwable ex) {
			this.failures.failed(connection, owed, message, ex);
		}
	}

	private static Throwable unwrap(Throwable failure) {
		Throwable cause = failure.getCause();
		return (failure instanceof CompletionException && cause != null) ? cause : failure;
	}

	private void begin(Connection connection, @Nullable ByteBuffer message, ReplySequence.Source source) {
		ReplySequence sequence = create(connection, message, source);
		try {
			this.sequences.compute(connection, (key, others) -> {
				Set<ReplySequence> all = (others != null) ? others : ConcurrentHashMap.newKeySet();
				all.add(sequence);
				return all;
			});
			source.start(sequence);
		}
		catch (Throwable ex) {
			// Usually because memory is short. Nothing else would end the sequence.
			sequence.abandon(ex);
			return;
		}
		sequence.proceed();
	}

	private ReplySequence create(Connection connection, @Nullable ByteBuffer message, ReplySequence.Source source) {
		try {
			return new ReplySequence(this, connection, message, source);
		}
		catch (Throwable ex) {
			// Usually because memory is short. Nobody else would close the source.
			try {
				source.close();
			}
			catch (Throwable closing) {
				ex.addSuppressed(closing);
			}
			throw ex;
		}
	}

	void ended(ReplySequence sequence, @Nullable Throwable failure) {
		this.sequences.computeIfPresent(sequence.connection(), (connection, all) -> {
			all.remove(sequence);
			return all.isEmpty() ? null : all;
		});
		if (failure != null) {
			this.failures.failed(sequence.connection(), sequence.owed(), sequence.message(), failure);
		}
	}

	/** Continues the replies of a connection when the peer has read waiting bytes. */
	void writable(Connection connection) {
		this.sequences.getOrDefault(connection, Set.of()).forEach(ReplySequence::proceed);
	}

	/** Ends the replies of a connection that has been closed. */
	void closed(Connection connection) {
		Set<ReplySequence> left = this.sequences.remove(connection);
		if (left != null) {
			left.forEach(ReplySequence::proceed);
		}
	}

	/**
	 * A reply that comes later. The connection handles no further message before it is
	 * sent. If messages are handled in parallel, the reply keeps its place in the order.
	 */
	static final class LaterReply {

		private final Suspension suspension;

		private final OwedReply owed;

		LaterReply(Connection connection) {
			this.suspension = connection.suspend();
			try {
				this.owed = connection.owe();
			}
			catch (Throwable ex) {
				this.suspension.resume();
				throw ex;
			}
		}

		OwedReply owed() {
			return this.owed;
		}

		void end() {
			try {
				this.suspension.resume();
			}
			finally {
				this.owed.close();
			}
		}

	}

}
