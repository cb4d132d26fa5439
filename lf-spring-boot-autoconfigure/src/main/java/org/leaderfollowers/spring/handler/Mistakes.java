package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Collects what is wrong with the methods of a bean or of an interface, so that all of it
 * can be told at once.
 */
final class Mistakes {

	private final List<Mistake> found = new ArrayList<>();

	/** Whether a method without its class could be one of several. */
	private final boolean severalClasses;

	Mistakes() {
		this(false);
	}

	Mistakes(boolean severalClasses) {
		this.severalClasses = severalClasses;
	}

	void add(String subject, String problem, String remedy) {
		this.found.add(new Mistake(subject, problem, remedy));
	}

	void add(Method method, String problem, String remedy) {
		add("Method " + name(method), problem, remedy);
	}

	/**
	 * Names a method, with its class if there are several.
	 */
	String name(Method method) {
		return this.severalClasses ? describeWithClass(method) : describe(method);
	}

	String names(Collection<Method> methods) {
		return methods.stream().map(this::name).collect(Collectors.joining(", "));
	}

	/**
	 * Throws an exception that tells of all mistakes, if there are any.
	 * @param problem what does not work because of them, as a sentence without full stop
	 * @param type the class or classes that have them
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
