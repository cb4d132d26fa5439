package org.leaderfollowers.spring.interceptor;

import java.nio.ByteBuffer;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;

/**
 * {@link MessageHandlerInterceptor} that runs the same code around every call of any
 * method of a handler, for example to bind a value to the thread and to remove it again.
 * It corresponds to the {@link org.springframework.core.task.TaskDecorator TaskDecorator}
 * of an executor:
 *
 * <pre>
 * &#064;Bean
 * HandlerCallInterceptor tenant() {
 *     return (connection, call) -&gt; {
 *         Tenant.set(connection.attributes().get("tenant"));
 *         try {
 *             call.proceed();
 *         }
 *         finally {
 *             Tenant.clear();
 *         }
 *     };
 * }
 * </pre>
 */
@FunctionalInterface
public interface HandlerCallInterceptor extends MessageHandlerInterceptor {

	/**
	 * Called around each call of a method of the handler.
	 * @param connection the connection of the call
	 * @param call the intercepted call
	 * @throws Exception exceptions count as thrown by the handler
	 */
	void aroundCall(Connection connection, HandlerCall call) throws Exception;

	@Override
	default void onOpen(Connection connection, MessageHandler next) throws Exception {
		aroundCall(connection, () -> next.onOpen(connection));
	}

	@Override
	default void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
		aroundCall(connection, () -> next.onMessage(connection, message));
	}

	@Override
	default void onWritable(Connection connection, MessageHandler next) throws Exception {
		aroundCall(connection, () -> next.onWritable(connection));
	}

	@Override
	default void onIdle(Connection connection, EventType type, MessageHandler next) throws Exception {
		aroundCall(connection, () -> next.onIdle(connection, type));
	}

	@Override
	default void onDrain(Connection connection, MessageHandler next) throws Exception {
		aroundCall(connection, () -> next.onDrain(connection));
	}

	@Override
	default void onClose(Connection connection, CloseReason reason, MessageHandler next) throws Exception {
		aroundCall(connection, () -> next.onClose(connection, reason));
	}

	@Override
	default void onError(Connection connection, Throwable failure, MessageHandler next) throws Exception {
		aroundCall(connection, () -> next.onError(connection, failure));
	}

	@Override
	default void onError(Connection connection, ByteBuffer message, Throwable failure, MessageHandler next)
			throws Exception {
		aroundCall(connection, () -> next.onError(connection, message, failure));
	}

	/** An intercepted call of a handler. */
	@FunctionalInterface
	interface HandlerCall {

		/**
		 * Continues with the call. Must be called at most once, by the thread that
		 * intercepts.
		 * @throws Exception the exceptions of the handler
		 */
		void proceed() throws Exception;

	}

}
