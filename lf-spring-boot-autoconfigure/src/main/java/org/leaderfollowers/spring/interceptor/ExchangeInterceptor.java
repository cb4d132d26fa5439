package org.leaderfollowers.spring.interceptor;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;

/**
 * Surrounds the calls of the {@link Exchange @Exchange} methods of all
 * {@link LfClient @LfClient} interfaces, or of the interfaces of {@linkplain #supports
 * some} clients:
 *
 * <pre>
 * &#064;Bean
 * ExchangeInterceptor breaker(CircuitBreaker breaker) {
 *     return (call) -&gt; breaker.call(call::proceed);
 * }
 * </pre>
 *
 * Beans of this type are applied automatically. If there are several, their
 * {@linkplain org.springframework.core.annotation.Order order} counts, and the first one
 * is the outermost.
 */
@FunctionalInterface
public interface ExchangeInterceptor {

	/**
	 * Whether to intercept the calls to a client. Called once for each interface.
	 * @param client the name of the client
	 * @return {@code true} unless overridden
	 */
	default boolean supports(String client) {
		return true;
	}

	/**
	 * Called when a method of an interface is called. The calling thread is that of the
	 * caller.
	 * @param call the intercepted call
	 * @return what the method returns, usually what {@link ExchangeCall#proceed()}
	 * returned. For a method that does not wait, this is a
	 * {@link java.util.concurrent.CompletableFuture}
	 * @throws Exception exceptions are passed on to the caller
	 */
	@Nullable Object aroundExchange(ExchangeCall call) throws Exception;

	/** An intercepted call. */
	interface ExchangeCall {

		/**
		 * The client that will send the request.
		 * @return its name
		 */
		String client();

		/**
		 * The method that was called.
		 * @return a method of an {@link LfClient @LfClient} interface
		 */
		Method method();

		/**
		 * The request, before it is converted.
		 * @return the argument of the call
		 */
		Object request();

		/**
		 * Continues with the call: validates, converts and sends the request, and
		 * converts and validates the reply. It may be called again, which sends the
		 * request again.
		 * @return the reply, or a {@link java.util.concurrent.CompletableFuture} of it;
		 * {@code null} for a method that returns nothing
		 * @throws Exception the exceptions of the method
		 */
		@Nullable Object proceed() throws Exception;

	}

}
