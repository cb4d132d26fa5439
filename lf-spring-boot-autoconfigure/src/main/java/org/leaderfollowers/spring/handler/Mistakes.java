package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Collects what is wrong with the methods of a bean, so that all of it can be told at
 * once.
 */
final class Mistakes {

	private final List<Mistake> found = new ArrayList<>();

	void add(String subject, String problem, String remedy) {
		this.found.add(new Mistake(subject, problem, remedy));
	}

	void add(Method method, String problem, String remedy) {
		add("Method " + describe(method), problem, remedy);
	}

	/**
	 * Throws an exception that tells of all mistakes, if there are any.
	 * @param bean the bean and where it is defined
	 * @param type its class
	 */
	void throwIfAny(String bean, Class<?> type) {
		if (this.found.isEmpty()) {
			return;
		}
		throw new InvalidHandlerException(
				"The bean %s, is annotated with @LfHandler, but %s cannot handle messages as it stands:%s".formatted(
						bean, type.getName(),
						InvalidHandlerException.list(this.found.stream().map(Mistake::toString).toList())),
				action(type));
	}

	private String action(Class<?> type) {
		List<String> remedies = this.found.stream().map(Mistake::remedy).distinct().toList();
		if (remedies.size() == 1) {
			return remedies.get(0);
		}
		return "Correct all of this in %s:%s".formatted(type.getName(),
				InvalidHandlerException.list(this.found.stream()
					.map((mistake) -> "%s: %s".formatted(mistake.subject(), mistake.remedy()))
					.toList()));
	}

	/**
	 * Names methods in a list.
	 */
	static String describe(Collection<Method> methods) {
		return methods.stream().map(Mistakes::describe).collect(Collectors.joining(", "));
	}

	/**
	 * Names a method as its author would.
	 */
	static String describe(Method method) {
		return method.getName() + Stream.of(method.getParameterTypes())
			.map(Class::getSimpleName)
			.collect(Collectors.joining(", ", "(", ")"));
	}

	/**
	 * Something that is wrong.
	 *
	 * @param subject the method, or the class
	 * @param problem what is wrong with it, as the rest of a sentence without full stop
	 * @param remedy what to do about it, as a sentence
	 */
	private record Mistake(String subject, String problem, String remedy) {

		@Override
		public String toString() {
			return "%s %s.".formatted(this.subject, this.problem);
		}

	}

}
