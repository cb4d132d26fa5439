package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Collects what is wrong with the methods of a bean, so that all of it can be told at
 * once.
 */
final class Mistakes {

	private final List<InvalidHandlerException.Mistake> found = new ArrayList<>();

	void add(String subject, String problem, String remedy) {
		this.found.add(new InvalidHandlerException.Mistake(subject, problem, remedy));
	}

	void add(Method method, String problem, String remedy) {
		add("Method " + describe(method), problem, remedy);
	}

	boolean isEmpty() {
		return this.found.isEmpty();
	}

	List<InvalidHandlerException.Mistake> found() {
		return this.found;
	}

	/**
	 * Names a method as its author would.
	 */
	static String describe(Method method) {
		return method.getName() + Stream.of(method.getParameterTypes())
			.map(Class::getSimpleName)
			.collect(Collectors.joining(", ", "(", ")"));
	}

}
