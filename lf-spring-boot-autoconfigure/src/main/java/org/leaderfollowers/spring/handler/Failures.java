package org.leaderfollowers.spring.handler;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;

/**
 * Gives failures to whoever handles them: the methods of the bean first, then the error
 * handlers of the application.
 */
final class Failures {

	/** The attribute of a connection that fails with what nobody has handled. */
	private static final String UNHANDLED = Failures.class.getName() + ".unhandled";

	private final ErrorMethods methods;

	private final List<LfErrorHandler> handlers;

	private final FailureLog log;

	Failures(ErrorMethods methods, List<LfErrorHandler> handlers, FailureLog log) {
		this.methods = methods;
		this.handlers = handlers;
		this.log = log;
	}

	/**
	 * Has a failure handled, if nobody has refused to handle it already.
	 * @return whether it was handled, so that the connection can stay open
	 */
	boolean handle(Replies replies, Connection connection, Throwable failure) {
		if (failure instanceof ConnectionClosedException && !connection.isOpen()) {
			// It was sent to a peer that had gone: the close tells it all.
			return false;
		}
		if (connection.attributes().remove(UNHANDLED, failure)) {
			return false;
		}
		try {
			if (reply(replies, connection, failure)) {
				return true;
			}
		}
		catch (ConnectionClosedException ex) {
			// Handled, but there is nobody any more to tell it to.
			return !connection.isOpen();
		}
		catch (Throwable ex) {
			if (ex != failure) {
				failure.addSuppressed(ex);
			}
		}
		connection.attributes().put(UNHANDLED, failure);
		return false;
	}

	private boolean reply(Replies replies, Connection connection, Throwable failure) throws Throwable {
		ErrorMethods.ErrorMethod method = this.methods.find(failure);
		if (method != null) {
			return reply(replies, connection, method.method().invoke(connection, null, failure), method.closing());
		}
		for (LfErrorHandler handler : this.handlers) {
			ErrorReply reply = handler.handle(connection, failure);
			if (reply != null) {
				return reply(replies, connection, reply.payload(), reply.isClosing());
			}
		}
		return false;
	}

	private static boolean reply(Replies replies, Connection connection, @Nullable Object reply, boolean close) {
		replies.send(connection, reply);
		if (close) {
			connection.close();
		}
		return true;
	}

	/** What nobody handles closes the connection. */
	void log(Connection connection, Throwable failure) {
		this.log.log(connection, failure);
	}

}
