package org.leaderfollowers.spring.handler;

import java.io.Serial;

/**
 * A handler method was to be called with something that the connection does not have.
 */
public class MissingHeaderException extends IllegalStateException {

	@Serial
	private static final long serialVersionUID = 1L;

	/** The name of what is missing. */
	private final String header;

	/**
	 * Creates the exception.
	 * @param header the name of what is missing
	 * @param message what is missing, and for which parameter
	 */
	public MissingHeaderException(String header, String message) {
		super(message);
		this.header = header;
	}

	/**
	 * What is missing.
	 * @return the name of the attribute, or one of {@link LfHeaders}
	 */
	public String getHeader() {
		return this.header;
	}

}
