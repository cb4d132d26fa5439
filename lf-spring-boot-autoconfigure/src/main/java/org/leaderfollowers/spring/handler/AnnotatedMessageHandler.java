package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.handler.HandlerMethods.Phase;

/**
 * {@link MessageHandler} that calls annotated methods, and the methods of the bean that
 * it may implement besides.
 */
final class AnnotatedMessageHandler implements MessageHandler {

	private final @Nullable HandlerMethod open;

	private final MessageDispatch message;

	private final @Nullable HandlerMethod idle;

	private final @Nullable HandlerMethod drain;

	private final @Nullable HandlerMethod close;

	/** The bean, if it is a message handler itself. */
	private final @Nullable MessageHandler bean;

	private final Replies replies;

	private final FailureLog failureLog;

	AnnotatedMessageHandler(Map<Phase, HandlerMethod> life, MessageDispatch message, @Nullable MessageHandler bean,
			Replies replies, FailureLog failureLog) {
		this.open = life.get(Phase.OPEN);
		this.message = message;
		this.idle = life.get(Phase.IDLE);
		this.drain = life.get(Phase.DRAIN);
		this.close = life.get(Phase.CLOSE);
		this.bean = bean;
		this.replies = replies;
		this.failureLog = failureLog;
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		if (this.open != null) {
			call(this.open, connection, null);
		}
		else if (this.bean != null) {
			this.bean.onOpen(connection);
		}
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		int start = message.position();
		int end = message.limit();
		try {
			Object reply = this.message.dispatch(connection, message);
			this.replies.send(connection, reply, this.replies.keep(reply, message, start, end));
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
	public void onIdle(Connection connection, EventType type) throws Exception {
		if (this.idle != null) {
			call(this.idle, connection, type);
		}
		else if (this.bean != null) {
			this.bean.onIdle(connection, type);
		}
	}

	@Override
	public void onDrain(Connection connection) throws Exception {
		if (this.drain != null) {
			call(this.drain, connection, null);
		}
		else if (this.bean != null) {
			this.bean.onDrain(connection);
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

	@Override
	public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		if (this.bean != null) {
			this.bean.onError(connection, message, failure);
		}
		else {
			this.failureLog.log(connection, failure);
		}
	}

	/** Calls a method that is not about a message, and sends what it returns. */
	private void call(HandlerMethod method, Connection connection, @Nullable Object event) {
		try {
			this.replies.send(connection, method.invoke(connection, null, event));
		}
		catch (Throwable ex) {
			throw rethrow(ex);
		}
	}

	/** A method may throw what it does not declare; the engine takes anything. */
	@SuppressWarnings("unchecked")
	private static <T extends Throwable> RuntimeException rethrow(Throwable failure) throws T {
		throw (T) failure;
	}

}
