package org.leaderfollowers.spring.interceptor;

import org.leaderfollowers.MessageHandler;

import org.springframework.core.Ordered;

/**
 * Wraps the handler of each server that is configured by properties, before the server is
 * built. Beans of this type are applied in their {@linkplain Ordered order}: the first
 * one is the outermost.
 * <p>
 * Most applications should use a {@link MessageHandlerInterceptor}, which is also a
 * decorator, or a {@link HandlerCallInterceptor}.
 */
@FunctionalInterface
public interface MessageHandlerDecorator {

	/**
	 * The order of the decorator that observes messages. Decorators with a lower order
	 * are outside of the observation, which does not time them. Decorators with a higher
	 * order, or none, run within the observation: their log lines contain the identifier
	 * of the trace.
	 */
	int OBSERVATION_ORDER = Ordered.HIGHEST_PRECEDENCE + 1000;

	/**
	 * Wraps a handler.
	 * @param handler the handler bean, or the result of other decorators
	 * @param server the name of the server that will call it
	 * @param handlerName the name of the handler bean
	 * @return the handler to call instead, which passes every method on; or the same
	 * handler
	 */
	MessageHandler decorate(MessageHandler handler, String server, String handlerName);

}
