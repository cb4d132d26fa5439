package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Collects the mistakes in the methods of a bean or of an interface, so that one
 * exception reports all of them.
 */
final class Mistakes {

	private final List<Mistake> found = new ArrayList<>();

	/**
	 * Whether several classes are checked, so that a method needs its class in messages.
	 */
	private final boolean severalClasses;

	Mistakes() {
		this(false);
	}

	Mistakes(boolean severalClasses) {
		this.severalClasses = severalClasses;
	}

	void add(String subject, String problem, String remedy) {
		Mistake mistake = new Mistake(subject, problem, remedy);
		if (!this.found.contains(mistake)) {
			this.found.add(mistake);
		}
	}

	void add(Method method, String problem, String remedy) {
		add("Method " + name(method), problem, remedy);
	}

	/**
	 * Names a method, with its class if several classes are checked.
	 */
	String name(Method method) {
		return this.severalClasses ? describeWithClass(method) : describe(method);
	}

	String names(Collection<Method> methods) {
		return methods.stream().map(this::name).collect(Collectors.joining(", "));
	}

	/**
	 * Throws an exception that reports all mistakes, if there are any.
	 * @param problem the consequence of the mistakes, as a sentence without full stop
	 * @param type the class or classes that have the mistakes
	 */
	void throwIfAny(String problem, String type) {
		if (this.found.isEmpty()) {
			return;
		}
		throw new InvalidHandlerException(
				problem + ":" + InvalidHandlerException.list(this.found.stream().map(Mistake::toString).toList()),
				action(type));
	}

	private String action(String type) {
		List<String> remedies = this.found.stream().map(Mistake::remedy).distinct().toList();
		if (remedies.size() == 1) {
			return remedies.get(0);
		}
		return "Correct all of this in %s:%s".formatted(type,
				InvalidHandlerException.list(this.found.stream()
					.map((mistake) -> "%s: %s".formatted(mistake.subject(), mistake.remedy()))
					.toList()));
	}

	/**
	 * Names a method and its class.
	 */
	static String describeWithClass(Method method) {
		return method.getDeclaringClass().getSimpleName() + "." + describe(method);
	}

	/**
	 * Names a method and its parameter types without packages.
	 */
	static String describe(Method method) {
		return method.getName() + Stream.of(method.getParameterTypes())
			.map(Class::getSimpleName)
			.collect(Collectors.joining(", ", "(", ")"));
	}

	/**
	 * A mistake.
	 *
	 * @param subject the method, or the class
	 * @param problem the mistake, as the rest of a sentence without full stop
	 * @param remedy the correction, as a sentence
	 */
	private record Mistake(String subject, String problem, String remedy) {

		@Override
		public String toString() {
			return "%s %s.".formatted(this.subject, this.problem);
		}

	}

}
