package org.leaderfollowers.spring.handler;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.MessageHandler;

/**
 * The outermost handler of a server: gives failures to the methods of the bean first,
 * then to the error handlers of the application, and goes on with replies that the peer
 * had not read.
 */
final class ServerMessageHandler implements MessageHandler {

	private final MessageHandler handler;

	private final Replies replies;

	private final ErrorMethods errorMethods;

	private final List<LfErrorHandler> errorHandlers;

	/**
	 * The failures that nobody has handled, by connection, until the engine gives them to
	 * {@link #onError}. The engine keeps both until then, so weak references are enough,
	 * and a connection that is closed meanwhile leaves nothing behind.
	 */
	private final Map<Connection, WeakReference<Throwable>> unhandled = Collections
		.synchronizedMap(new WeakHashMap<>());

	ServerMessageHandler(MessageHandler handler, Replies replies, ErrorMethods errorMethods,
			List<LfErrorHandler> errorHandlers) {
		this.handler = handler;
		this.replies = replies;
		this.errorMethods = errorMethods;
		this.errorHandlers = errorHandlers;
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		// What fails here closes the connection, and is handled by the way.
		this.handler.onOpen(connection);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		try {
			this.handler.onMessage(connection, message);
		}
		catch (Throwable ex) {
			if (!handle(connection, ex)) {
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
		if (!handle(connection, failure)) {
			this.handler.onError(connection, failure);
		}
	}

	/**
	 * Has a failure handled after the call in which it happened: that of a reply that
	 * came later.
	 */
	void failed(Connection connection, Throwable failure) {
		if (!handle(connection, failure)) {
			connection.fail(failure);
		}
	}

	/**
	 * Has a failure handled, if nobody has refused to handle it already.
	 * @return whether it was handled, so that the connection can stay open
	 */
	private boolean handle(Connection connection, Throwable failure) {
		if (failure instanceof ConnectionClosedException && !connection.isOpen()) {
			// It was sent to a peer that had gone: the close tells it all.
			return false;
		}
		WeakReference<Throwable> refused = this.unhandled.get(connection);
		if (refused != null && refused.get() == failure) {
			this.unhandled.remove(connection);
			return false;
		}
		try {
			if (reply(connection, failure)) {
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
			}
		}
		this.unhandled.put(connection, new WeakReference<>(failure));
		return false;
	}

	private boolean reply(Connection connection, Throwable failure) throws Throwable {
		ErrorMethods.ErrorMethod method = this.errorMethods.find(failure);
		if (method != null) {
			return reply(connection, method.method().invoke(connection, null, failure), method.closing());
		}
		for (LfErrorHandler errorHandler : this.errorHandlers) {
			ErrorReply reply = errorHandler.handle(connection, failure);
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
