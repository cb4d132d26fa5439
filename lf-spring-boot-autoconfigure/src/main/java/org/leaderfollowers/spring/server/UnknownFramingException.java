package org.leaderfollowers.spring.server;

import java.util.Collection;
import java.util.List;

/**
 * Thrown when a server is to use a framing bean that does not exist.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public class UnknownFramingException extends RuntimeException {

	private final String framing;

	private final List<String> knownFramings;

	private final String property;

	/**
	 * Creates a new exception.
	 * @param framing the name of the bean that was asked for
	 * @param knownFramings the names of the framing beans that there are
	 * @param property the property that names the bean
	 */
	public UnknownFramingException(String framing, Collection<String> knownFramings, String property) {
		super("There is no bean named '%s'. Known framing beans: %s".formatted(framing,
				String.join(", ", knownFramings)));
		this.framing = framing;
		this.knownFramings = List.copyOf(knownFramings);
		this.property = property;
	}

	/**
	 * Returns the framing that was asked for.
	 * @return the name of the bean
	 */
	public String getFraming() {
		return this.framing;
	}

	/**
	 * Returns the framings that there are.
	 * @return the names of the beans, possibly none
	 */
	public List<String> getKnownFramings() {
		return this.knownFramings;
	}

	/**
	 * Returns the property that names the framing.
	 * @return the name of the property
	 */
	public String getProperty() {
		return this.property;
	}

}
