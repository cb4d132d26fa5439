package org.leaderfollowers.spring.handler;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Thrown at start when the annotated methods of a bean cannot handle what they say.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public class InvalidHandlerException extends RuntimeException {

	private final String bean;

	private final Class<?> type;

	private final List<Mistake> mistakes;

	/**
	 * Creates a new exception.
	 * @param bean the bean and where it is defined
	 * @param type its class
	 * @param mistakes everything that is wrong
	 */
	public InvalidHandlerException(String bean, Class<?> type, List<Mistake> mistakes) {
		super("The bean %s, cannot handle messages: %s".formatted(bean,
				mistakes.stream()
					.map((mistake) -> mistake.subject() + " " + mistake.problem())
					.collect(Collectors.joining("; "))));
		this.bean = bean;
		this.type = type;
		this.mistakes = List.copyOf(mistakes);
	}

	/**
	 * Returns the bean.
	 * @return its name and where it is defined
	 */
	public String getBean() {
		return this.bean;
	}

	/**
	 * Returns the class that declares the methods.
	 * @return the class of the bean
	 */
	public Class<?> getType() {
		return this.type;
	}

	/**
	 * Returns everything that is wrong.
	 * @return one or more mistakes
	 */
	public List<Mistake> getMistakes() {
		return this.mistakes;
	}

	/**
	 * Something that is wrong.
	 *
	 * @param subject the method, or the class
	 * @param problem what is wrong with it, as the rest of a sentence without full stop
	 * @param remedy what to do about it, as a sentence
	 */
	public record Mistake(String subject, String problem, String remedy) {

	}

}
