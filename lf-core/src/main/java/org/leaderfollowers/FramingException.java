package org.leaderfollowers;

import java.io.Serial;

/**
 * The input of a connection is not what its framing allows. The connection is closed,
 * since nobody knows where the next message begins.
 */
public class FramingException extends RuntimeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message what was wrong, without the payload
	 */
	public FramingException(String message) {
		super(message);
	}

}
