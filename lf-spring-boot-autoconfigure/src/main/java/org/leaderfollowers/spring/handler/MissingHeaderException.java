package org.leaderfollowers.spring.handler;

import java.io.Serial;

/**
 * Thrown if a handler method needs an attribute or header that the connection does not
 * have.
 */
public class MissingHeaderException extends IllegalStateException {

	@Serial
	private static final long serialVersionUID = 1L;

	/** The name of the missing attribute or header. */
	private final String header;

	/**
	 * Creates the exception.
	 * @param header the name of the missing attribute or header
	 * @param message names the missing value and the parameter that needs it
	 */
	public MissingHeaderException(String header, String message) {
		super(message);
		this.header = header;
	}

	/**
	 * Returns the name of the missing attribute or header.
	 * @return the name of the attribute, or one of {@link LfHeaders}
	 */
	public String getHeader() {
		return this.header;
	}

}
