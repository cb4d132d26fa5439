package org.leaderfollowers.spring.handler;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;

/**
 * The outermost handler of a server: gives failures to the methods of the bean first,
 * then to the error handlers of the application, and goes on with replies that the peer
 * had not read.
 */
final class ServerMessageHandler implements MessageHandler {

	private final MessageHandler handler;

	private final Replies replies;

	/** Asked in this order: those of the handlers first, then those of each advice. */
	private final List<ErrorMethods> errorMethods;

	private final List<LfErrorHandler> errorHandlers;

	private final FailureLog failureLog;

	/**
	 * The failures that nobody has handled, by connection, until the engine gives them to
	 * {@link #onError}. The engine keeps both until then, so weak references are enough,
	 * and a connection that is closed meanwhile leaves nothing behind. Several messages
	 * of a connection may be handled at a time.
	 */
	private final Map<Connection, List<WeakReference<Throwable>>> unhandled = new WeakHashMap<>();

	ServerMessageHandler(MessageHandler handler, Replies replies, List<ErrorMethods> errorMethods,
			List<LfErrorHandler> errorHandlers, FailureLog failureLog) {
		this.handler = handler;
		this.replies = replies;
		this.errorMethods = errorMethods;
		this.errorHandlers = errorHandlers;
		this.failureLog = failureLog;
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		// What fails here closes the connection, and is handled by the way.
		this.handler.onOpen(connection);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		int start = message.position();
		int end = message.limit();
		try {
			this.handler.onMessage(connection, message);
		}
		catch (Throwable ex) {
			if (!handle(connection, message.limit(end).position(start).mark(), ex)) {
				throw ex;
			}
		}
	}

	@Override
	public void onWritable(Connection connection) throws Exception {
		this.replies.writable(connection);
		this.handler.onWritable(connection);
	}

	@Override
	public void onIdle(Connection connection, EventType type) throws Exception {
		this.handler.onIdle(connection, type);
	}

	@Override
	public void onDrain(Connection connection) throws Exception {
		// As for onOpen: it closes the connection if it fails.
		this.handler.onDrain(connection);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		try {
			this.handler.onClose(connection, reason);
		}
		finally {
			this.replies.closed(connection);
		}
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		if (!handle(connection, null, failure)) {
			this.handler.onError(connection, failure);
		}
	}

	@Override
	public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		if (!handle(connection, message, failure)) {
			this.handler.onError(connection, message, failure);
		}
	}

	/**
	 * Has a failure handled after the call in which it happened: that of a reply that
	 * came later.
	 * @param owed the reply
	 * @param message a copy of the message, if it is known
	 */
	void failed(Connection connection, OwedReply owed, @Nullable ByteBuffer message, Throwable failure) {
		if (!handle(connection, message, failure)) {
			owed.fail(failure);
		}
	}

	/**
	 * Has a failure handled, if nobody has refused to handle it already.
	 * @return whether it was handled, so that the connection can stay open
	 */
	private boolean handle(Connection connection, @Nullable ByteBuffer message, Throwable failure) {
		if (failure instanceof ConnectionClosedException && !connection.isOpen()) {
			// It was sent to a peer that had gone: the close tells it all.
			return false;
		}
		if (takeRefused(connection, failure)) {
			return false;
		}
		try {
			if (reply(connection, message, failure)) {
				return true;
			}
		}
		catch (ConnectionClosedException ex) {
			// It is handled, but the peer that should be told has gone.
			return !connection.isOpen();
		}
		catch (Throwable ex) {
			if (ex != failure) {
				failure.addSuppressed(ex);
				this.failureLog.logHandling(connection, failure, ex);
			}
		}
		refuse(connection, failure);
		return false;
	}

	private void refuse(Connection connection, Throwable failure) {
		synchronized (this.unhandled) {
			this.unhandled.computeIfAbsent(connection, (key) -> new ArrayList<>(1)).add(new WeakReference<>(failure));
		}
	}

	private boolean takeRefused(Connection connection, Throwable failure) {
		synchronized (this.unhandled) {
			List<WeakReference<Throwable>> refused = this.unhandled.getOrDefault(connection, List.of());
			boolean taken = refused.stream().anyMatch((candidate) -> candidate.refersTo(failure));
			if (taken) {
				refused.removeIf((candidate) -> candidate.refersTo(failure) || candidate.refersTo(null));
				if (refused.isEmpty()) {
					this.unhandled.remove(connection);
				}
			}
			return taken;
		}
	}

	private boolean reply(Connection connection, @Nullable ByteBuffer message, Throwable failure) throws Throwable {
		for (ErrorMethods candidates : this.errorMethods) {
			ErrorMethods.ErrorMethod method = candidates.find(failure, message != null);
			if (method != null) {
				return reply(connection, method.method().invoke(connection, message, failure), method.closing());
			}
		}
		for (LfErrorHandler errorHandler : this.errorHandlers) {
			// Each gets the whole message: the first may have read it.
			ErrorReply reply = (message != null) ? errorHandler.handle(connection, message.reset(), failure)
					: errorHandler.handle(connection, failure);
			if (reply != null) {
				return reply(connection, reply.payload(), reply.isClosing());
			}
		}
		return false;
	}

	private boolean reply(Connection connection, @Nullable Object reply, boolean close) {
		this.replies.send(connection, reply);
		if (close) {
			connection.close();
		}
		return true;
	}

}
