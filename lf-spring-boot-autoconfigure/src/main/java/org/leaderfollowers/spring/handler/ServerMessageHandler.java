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
 * The outermost handler of a server or client. It passes failures to the methods for
 * failures, then to the error handlers of the application. It also continues replies when
 * the peer has read waiting bytes.
 */
final class ServerMessageHandler implements MessageHandler {

	private final MessageHandler handler;

	private final Replies replies;

	/**
	 * Searched in this order: the methods of the handlers first, then those of each
	 * advice.
	 */
	private final List<ErrorMethods> errorMethods;

	private final List<LfErrorHandler> errorHandlers;

	private final FailureLog failureLog;

	/**
	 * The failures that were not handled, by connection, until the engine passes them to
	 * {@link #onError}, which must not handle them a second time. The engine keeps
	 * connection and failure until then, so weak references suffice, and a connection
	 * that is closed meanwhile leaks nothing. A connection may have several failures,
	 * since its messages may be handled in parallel.
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
		// An exception closes the connection, and the engine passes it to onError.
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
		// As in onOpen, an exception closes the connection.
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
	 * Handles the failure of a reply that came after the return of the handler method.
	 * @param owed the reply
	 * @param message a copy of the message, or {@code null} if none was kept
	 */
	void failed(Connection connection, OwedReply owed, @Nullable ByteBuffer message, Throwable failure) {
		boolean handled = false;
		try {
			handled = handle(connection, message, failure);
		}
		finally {
			if (!handled) {
				owed.fail(failure);
			}
		}
	}

	/**
	 * Handles a failure, unless an earlier call has left it unhandled.
	 * @return whether the failure was handled, so that the connection can stay open
	 */
	private boolean handle(Connection connection, @Nullable ByteBuffer message, Throwable failure) {
		if (failure instanceof ConnectionClosedException && !connection.isOpen()) {
			// Expected when sending to a closed connection; onClose reports the close.
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
		catch (Throwable ex) {
			if (ex instanceof ConnectionClosedException && !connection.isOpen()) {
				// The failure is handled, but the peer of the reply has closed.
				return true;
			}
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
			// An earlier error handler may have read the message; reset restores it.
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
