package org.leaderfollowers.spring.interceptor;

import org.leaderfollowers.MessageHandler;

import org.springframework.core.Ordered;

/**
 * Wraps the handler of each server that is configured by properties, before the server is
 * built. Beans of this type are applied in their {@linkplain Ordered order}: the first
 * one is the outermost, and sees each call first.
 * <p>
 * Most applications are better off with a {@link MessageHandlerInterceptor}, which is a
 * decorator as well, or with a {@link HandlerCallInterceptor}.
 */
@FunctionalInterface
public interface MessageHandlerDecorator {

	/**
	 * The order of the decorator that observes messages. What comes before it is outside
	 * of the observation and not timed by it. What comes after it, and that is everything
	 * that has no order, runs within: its log lines have the identifier of the trace.
	 */
	int OBSERVATION_ORDER = Ordered.HIGHEST_PRECEDENCE + 1000;

	/**
	 * Wraps a handler.
	 * @param handler the handler bean, or what other decorators have made of it
	 * @param server the name of the server that will call it
	 * @param handlerName the name of the handler bean
	 * @return the handler to call instead, which passes every method on; or the given one
	 */
	MessageHandler decorate(MessageHandler handler, String server, String handlerName);

}
