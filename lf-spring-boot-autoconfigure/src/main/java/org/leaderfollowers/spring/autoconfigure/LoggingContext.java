package org.leaderfollowers.spring.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventSource;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.interceptor.HandlerCallInterceptor;
import org.leaderfollowers.spring.internal.Printable;
import org.slf4j.MDC;

/**
 * Tells the diagnostic context of the logs, SLF4J's {@link MDC}, which server, client or
 * event source a handler runs for, and which connection. After the call, the thread has
 * the values that it had before.
 * <p>
 * It surrounds everything else that is called for an event, such as {@code @OnError}
 * methods and listeners of connection events, so that their log lines have the values
 * too.
 *
 * @param key the key of the name
 * @param name the name of the server or client
 */
record LoggingContext(String key, String name) implements HandlerCallInterceptor {

	static final String SERVER = "lf.server";

	static final String CLIENT = "lf.client";

	private static final String SOURCE = "lf.source";

	// No key is the beginning of another one: stores that nest keys at their dots, such
	// as Elasticsearch, would reject the log lines.

	private static final String CONNECTION_ID = "lf.connection.id";

	private static final String CONNECTION_NAME = "lf.connection.name";

	/**
	 * Surrounds the handler of a server or client.
	 */
	MessageHandler around(MessageHandler handler) {
		return decorate(handler, this.name, this.name);
	}

	@Override
	public void aroundCall(Connection connection, HandlerCall call) throws Exception {
		String outerOwner = replace(this.key, this.name);
		String outerId = replace(CONNECTION_ID, Long.toString(connection.id()));
		String name = connection.name();
		// The application may have taken the name from what a peer sent.
		String outerName = replace(CONNECTION_NAME, (name != null) ? Printable.of(name) : null);
		try {
			call.proceed();
		}
		finally {
			replace(this.key, outerOwner);
			replace(CONNECTION_ID, outerId);
			replace(CONNECTION_NAME, outerName);
		}
	}

	/**
	 * Surrounds the handler of an event source.
	 */
	static EventSource.Handler<Object> around(EventSource.Handler<Object> handler, String source) {
		return new EventSource.Handler<>() {

			@Override
			public void handleEvent(Object event) throws Exception {
				String outer = replace(SOURCE, source);
				try {
					handler.handleEvent(event);
				}
				finally {
					replace(SOURCE, outer);
				}
			}

			@Override
			public String name() {
				return handler.name();
			}

		};
	}

	private static @Nullable String replace(String key, @Nullable String value) {
		String outer = MDC.get(key);
		if (value != null) {
			MDC.put(key, value);
		}
		else if (outer != null) {
			MDC.remove(key);
		}
		return outer;
	}

}
