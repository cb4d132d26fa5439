package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.handler.HandlerMethods.Phase;

/**
 * {@link MessageHandler} that calls annotated methods. If its only bean is a message
 * handler itself, that bean receives the events that have no annotated method.
 */
final class AnnotatedMessageHandler implements MessageHandler {

	private final List<HandlerMethod> open;

	private final MessageDispatch message;

	private final List<HandlerMethod> idle;

	private final List<HandlerMethod> drain;

	private final List<HandlerMethod> close;

	/** The only bean, if it is a message handler itself. */
	private final @Nullable MessageHandler bean;

	private final Replies replies;

	private final FailureLog failureLog;

	AnnotatedMessageHandler(Map<Phase, List<HandlerMethod>> life, MessageDispatch message,
			@Nullable MessageHandler bean, Replies replies, FailureLog failureLog) {
		this.open = life.getOrDefault(Phase.OPEN, List.of());
		this.message = message;
		this.idle = life.getOrDefault(Phase.IDLE, List.of());
		this.drain = life.getOrDefault(Phase.DRAIN, List.of());
		this.close = life.getOrDefault(Phase.CLOSE, List.of());
		this.bean = bean;
		this.replies = replies;
		this.failureLog = failureLog;
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		call(this.open, connection, null);
		if (this.open.isEmpty() && this.bean != null) {
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
		call(this.idle, connection, type);
		if (this.idle.isEmpty() && this.bean != null) {
			this.bean.onIdle(connection, type);
		}
	}

	@Override
	public void onDrain(Connection connection) throws Exception {
		call(this.drain, connection, null);
		if (this.drain.isEmpty() && this.bean != null) {
			this.bean.onDrain(connection);
		}
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		Throwable failure = null;
		for (HandlerMethod method : this.close) {
			try {
				method.invoke(connection, null, reason);
			}
			catch (Throwable ex) {
				// All methods must see the close, even if one of them fails.
				if (failure == null) {
					failure = ex;
				}
				else if (failure != ex) {
					failure.addSuppressed(ex);
				}
			}
		}
		if (failure != null) {
			throw rethrow(failure);
		}
		if (this.close.isEmpty() && this.bean != null) {
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

	/**
	 * Calls the methods for an event other than a message, and sends the values that they
	 * return.
	 */
	private void call(List<HandlerMethod> methods, Connection connection, @Nullable Object event) {
		try {
			for (HandlerMethod method : methods) {
				this.replies.send(connection, method.invoke(connection, null, event));
			}
		}
		catch (Throwable ex) {
			throw rethrow(ex);
		}
	}

	/**
	 * An annotated method may throw any {@link Throwable}, but {@link MessageHandler}
	 * declares only exceptions. The engine handles every {@link Throwable}.
	 */
	@SuppressWarnings("unchecked")
	private static <T extends Throwable> RuntimeException rethrow(Throwable failure) throws T {
		throw (T) failure;
	}

}
