package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;

/**
 * {@link MessageHandler} that calls annotated methods, and the methods of the bean that
 * it may implement besides.
 */
final class AnnotatedMessageHandler implements MessageHandler {

	private final @Nullable HandlerMethod open;

	private final MessageDispatch message;

	private final @Nullable HandlerMethod close;

	/** The bean, if it is a message handler itself. */
	private final @Nullable MessageHandler bean;

	private final Replies replies;

	private final FailureLog failureLog;

	AnnotatedMessageHandler(@Nullable HandlerMethod open, MessageDispatch message, @Nullable HandlerMethod close,
			@Nullable MessageHandler bean, Replies replies, FailureLog failureLog) {
		this.open = open;
		this.message = message;
		this.close = close;
		this.bean = bean;
		this.replies = replies;
		this.failureLog = failureLog;
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		if (this.open != null) {
			try {
				this.replies.send(connection, this.open.invoke(connection, null, null));
			}
			catch (Throwable ex) {
				throw rethrow(ex);
			}
		}
		else if (this.bean != null) {
			this.bean.onOpen(connection);
		}
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		try {
			this.replies.send(connection, this.message.dispatch(connection, message));
		}
		catch (Throwable ex) {
			throw rethrow(ex);
		}
	}

	@Override
	public void onWritable(Connection connection) throws Exception {
		if (this.bean != null) {
			this.bean.onWritable(connection);
		}
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		if (this.close != null) {
			try {
				this.close.invoke(connection, null, reason);
			}
			catch (Throwable ex) {
				throw rethrow(ex);
			}
		}
		else if (this.bean != null) {
			this.bean.onClose(connection, reason);
		}
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		if (this.bean != null) {
			this.bean.onError(connection, failure);
		}
		else {
			this.failureLog.log(connection, failure);
		}
	}

	/** A method may throw what it does not declare; the engine takes anything. */
	@SuppressWarnings("unchecked")
	private static <T extends Throwable> RuntimeException rethrow(Throwable failure) throws T {
		throw (T) failure;
	}

}
