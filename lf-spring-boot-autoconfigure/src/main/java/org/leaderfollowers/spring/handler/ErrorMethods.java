package org.leaderfollowers.spring.handler;

import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import org.springframework.core.ExceptionDepthComparator;

/**
 * Finds the method for a failure: the one whose type is nearest to that of the exception,
 * or else to that of its cause, and so on.
 */
final class ErrorMethods {

	/** Causes are followed no further: they may go round in circles. */
	private static final int MAX_CAUSES = 32;

	private final Map<Class<? extends Throwable>, ErrorMethod> methods = new LinkedHashMap<>();

	/**
	 * A method for failures.
	 *
	 * @param method the method
	 * @param closing whether the connection is closed afterwards
	 */
	record ErrorMethod(HandlerMethod method, boolean closing) {
	}

	/** Returns the method that is for the type already, if there is one. */
	@Nullable ErrorMethod add(Class<? extends Throwable> type, ErrorMethod method) {
		return this.methods.putIfAbsent(type, method);
	}

	@Nullable ErrorMethod find(Throwable failure) {
		if (this.methods.isEmpty()) {
			return null;
		}
		Throwable candidate = failure;
		for (int i = 0; i < MAX_CAUSES && candidate != null; i++) {
			ErrorMethod method = find(candidate.getClass());
			if (method != null) {
				return method;
			}
			candidate = candidate.getCause();
		}
		return null;
	}

	private @Nullable ErrorMethod find(Class<? extends Throwable> type) {
		return this.methods.keySet()
			.stream()
			.filter((candidate) -> candidate.isAssignableFrom(type))
			.min(new ExceptionDepthComparator(type))
			.map(this.methods::get)
			.orElse(null);
	}

	/** Finds what a parameter is for: the failure or the nearest of its causes. */
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
