package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import org.springframework.core.ExceptionDepthComparator;

/**
 * Finds the method for a failure: the method whose exception type is nearest to the type
 * of the failure. If no method matches the failure, its causes are tried in turn.
 */
final class ErrorMethods {

	/** Bounds the search through the causes, since they may form a cycle. */
	private static final int MAX_CAUSES = 32;

	private final Map<Class<? extends Throwable>, ErrorMethod> methods = new LinkedHashMap<>();

	/**
	 * A method for failures.
	 *
	 * @param declared the method as it is declared
	 * @param method the method, ready to be called
	 * @param closing whether the connection is closed afterwards
	 * @param takesMessage whether it takes the message that failed
	 * @param needsMessage whether the method is called only if there is such a message
	 */
	record ErrorMethod(Method declared, HandlerMethod method, boolean closing, boolean takesMessage,
			boolean needsMessage) {
	}

	/**
	 * Adds a method for a type unless the type already has one, which is then returned.
	 */
	@Nullable ErrorMethod add(Class<? extends Throwable> type, ErrorMethod method) {
		return this.methods.putIfAbsent(type, method);
	}

	/** Whether a method takes the message that failed. */
	boolean takeMessages() {
		return this.methods.values().stream().anyMatch(ErrorMethod::takesMessage);
	}

	/**
	 * Finds the method for a failure.
	 * @param ofMessage whether the message that failed is available
	 */
	@Nullable ErrorMethod find(Throwable failure, boolean ofMessage) {
		if (this.methods.isEmpty()) {
			return null;
		}
		Throwable candidate = failure;
		for (int i = 0; i < MAX_CAUSES && candidate != null; i++) {
			ErrorMethod method = find(candidate.getClass(), ofMessage);
			if (method != null) {
				return method;
			}
			candidate = candidate.getCause();
		}
		return null;
	}

	private @Nullable ErrorMethod find(Class<? extends Throwable> type, boolean ofMessage) {
		return this.methods.entrySet()
			.stream()
			.filter((candidate) -> candidate.getKey().isAssignableFrom(type))
			.filter((candidate) -> ofMessage || !candidate.getValue().needsMessage())
			.min(Map.Entry.comparingByKey(new ExceptionDepthComparator(type)))
			.map(Map.Entry::getValue)
			.orElse(null);
	}

	/**
	 * Finds the argument for a parameter: the failure, or the nearest of its causes, that
	 * has the type of the parameter.
	 */
	static @Nullable Object find(Class<?> type, @Nullable Object failure) {
		Throwable candidate = (Throwable) failure;
		for (int i = 0; i < MAX_CAUSES && candidate != null; i++) {
			if (type.isInstance(candidate)) {
				return candidate;
			}
			candidate = candidate.getCause();
		}
		return null;
	}

}
