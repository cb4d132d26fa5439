package org.leaderfollowers.spring.interceptor;

/**
 * A call of a handler that was intercepted.
 */
@FunctionalInterface
public interface HandlerCall {

	/**
	 * Goes on with the call. To be called at most once, by the thread that intercepts.
	 * @throws Exception whatever the handler throws
	 */
	void proceed() throws Exception;

}
