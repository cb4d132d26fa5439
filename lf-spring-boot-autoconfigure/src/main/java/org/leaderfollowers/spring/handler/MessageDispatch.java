package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.handler.PayloadReaders.PayloadReader;
import org.leaderfollowers.spring.internal.LoginFailures;

/**
 * Chooses the method for a message and calls it.
 */
@FunctionalInterface
interface MessageDispatch {

	/**
	 * Handles a message.
	 * @return the reply
	 */
	@Nullable Object dispatch(Connection connection, ByteBuffer message) throws Throwable;

	/**
	 * Dispatches messages that match no method.
	 *
	 * @param method the default method, or {@code null} if there is none
	 * @param unmatched the message of the exception that is thrown without a default
	 * method
	 */
	record Otherwise(@Nullable HandlerMethod method, String unmatched) {

		@Nullable Object dispatch(Connection connection, ByteBuffer message, @Nullable String type) throws Throwable {
			if (this.method == null) {
				throw new UnmatchedMessageException(this.unmatched, type);
			}
			return this.method.invoke(connection, message, null);
		}

	}

	/**
	 * Accepts only logins from a client that has not logged in.
	 *
	 * @param login dispatches messages of clients that have not logged in
	 * @param messages dispatches messages of clients that have logged in
	 */
	record ByLogin(MessageDispatch login, MessageDispatch messages) implements MessageDispatch {

		@Override
		public @Nullable Object dispatch(Connection connection, ByteBuffer message) throws Throwable {
			if (hasLoggedIn(connection)) {
				return this.messages.dispatch(connection, message);
			}
			LoginFailures failures = LoginFailures.of(connection);
			if (failures == LoginFailures.UNLIMITED) {
				return login(connection, message, failures);
			}
			// Messages may be handled in parallel, but one login after the other is
			// tried:
			// otherwise many could pass the check before the first has failed.
			synchronized (failures.lock()) {
				return hasLoggedIn(connection) ? this.messages.dispatch(connection, message)
						: login(connection, message, failures);
			}
		}

		private @Nullable Object login(Connection connection, ByteBuffer message, LoginFailures failures)
				throws Throwable {
			failures.check();
			int before = failures.count();
			try {
				Object reply = this.login.dispatch(connection, message);
				hasLoggedIn(connection);
				return reply;
			}
			catch (UnmatchedMessageException ex) {
				throw new LoginRequiredException(ex);
			}
			catch (Throwable ex) {
				failures.failedSince(before);
				throw ex;
			}
		}

		private static boolean hasLoggedIn(Connection connection) {
			if (ConnectionMessage.principal(connection) == null) {
				return false;
			}
			// Ends the login timeout, also if a certificate replaces the login.
			connection.loggedIn();
			return true;
		}

	}

	/**
	 * Chooses by the first bytes of a message. The longest matching prefix wins.
	 */
	final class ByPrefix implements MessageDispatch {

		private final List<Prefix> prefixes;

		private final Otherwise otherwise;

		/**
		 * A prefix of messages, and its method.
		 *
		 * @param bytes the first bytes of the messages
		 * @param strip whether these bytes are removed from the payload
		 * @param method the method
		 */
		record Prefix(byte[] bytes, boolean strip, HandlerMethod method) {

			boolean matches(ByteBuffer message) {
				if (message.remaining() < this.bytes.length) {
					return false;
				}
				int start = message.position();
				for (int i = 0; i < this.bytes.length; i++) {
					if (message.get(start + i) != this.bytes[i]) {
						return false;
					}
				}
				return true;
			}

		}

		ByPrefix(List<Prefix> prefixes, Otherwise otherwise) {
			this.prefixes = prefixes.stream()
				.sorted(Comparator.comparingInt((Prefix prefix) -> prefix.bytes().length).reversed())
				.toList();
			this.otherwise = otherwise;
		}

		@Override
		public @Nullable Object dispatch(Connection connection, ByteBuffer message) throws Throwable {
			for (Prefix prefix : this.prefixes) {
				if (prefix.matches(message)) {
					if (prefix.strip()) {
						// The mark moves too: reset returns to the start of the payload.
						message.position(message.position() + prefix.bytes().length).mark();
					}
					return prefix.method().invoke(connection, message, null);
				}
			}
			return this.otherwise.dispatch(connection, message, null);
		}

	}

	/**
	 * Chooses by a property of a JSON message.
	 */
	final class ByType implements MessageDispatch {

		private final PayloadReaders readers;

		private final JsonConverter json;

		private final String property;

		private final Map<String, HandlerMethod> methods;

		private final Otherwise otherwise;

		ByType(PayloadReaders readers, JsonConverter json, String property, Map<String, HandlerMethod> methods,
				Otherwise otherwise) {
			this.readers = readers;
			this.json = json;
			this.property = property;
			this.methods = Map.copyOf(methods);
			this.otherwise = otherwise;
		}

		@Override
		public @Nullable Object dispatch(Connection connection, ByteBuffer message) throws Throwable {
			String type = this.json.property(this.readers.json(message), this.property);
			HandlerMethod method = (type != null) ? this.methods.get(type) : null;
			return (method != null) ? method.invoke(connection, message, null)
					: this.otherwise.dispatch(connection, message, type);
		}

	}

	/**
	 * Converts the message to the type that it names, and chooses by the class of the
	 * result.
	 */
	final class ByPayloadClass implements MessageDispatch {

		private final PayloadReader reader;

		private final Map<Class<?>, HandlerMethod> methods;

		private final Otherwise otherwise;

		/**
		 * Caches the nearest method by the class of the payload, of which there are few.
		 */
		private final Map<Class<?>, HandlerMethod> found = new ConcurrentHashMap<>();

		ByPayloadClass(PayloadReader reader, Map<Class<?>, HandlerMethod> methods, Otherwise otherwise) {
			this.reader = reader;
			this.methods = Map.copyOf(methods);
			this.otherwise = otherwise;
		}

		@Override
		public @Nullable Object dispatch(Connection connection, ByteBuffer message) throws Throwable {
			Object payload;
			try {
				payload = this.reader.read(connection, message);
			}
			catch (PayloadConversionException ex) {
				if (!JsonConverter.isUnknownType(ex)) {
					throw ex;
				}
				payload = null;
			}
			HandlerMethod method = (payload != null) ? find(payload.getClass()) : null;
			if (method != null) {
				return method.invoke(connection, message, payload);
			}
			return this.otherwise.dispatch(connection, message, null);
		}

		private @Nullable HandlerMethod find(Class<?> type) {
			HandlerMethod method = this.found.get(type);
			if (method == null) {
				method = nearest(type);
				if (method != null) {
					this.found.put(type, method);
				}
			}
			return method;
		}

		private @Nullable HandlerMethod nearest(Class<?> type) {
			List<Class<?>> matching = this.methods.keySet()
				.stream()
				.<Class<?>>filter((candidate) -> candidate.isAssignableFrom(type))
				.toList();
			List<Class<?>> nearest = matching.stream()
				.filter((candidate) -> matching.stream()
					.noneMatch((other) -> other != candidate && candidate.isAssignableFrom(other)))
				.toList();
			if (nearest.size() > 1) {
				throw new IllegalStateException(
						("The payload %s has the classes %s of several @OnMessage methods, and none of these is a "
								+ "subclass of the others. Add a method whose payload is %1$s.")
							.formatted(type.getSimpleName(),
									nearest.stream()
										.map(Class::getSimpleName)
										.sorted()
										.collect(Collectors.joining(", "))));
			}
			return nearest.isEmpty() ? null : this.methods.get(nearest.get(0));
		}

	}

}
