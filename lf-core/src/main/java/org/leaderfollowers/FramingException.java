package org.leaderfollowers;

import java.io.Serial;

/**
 * The input of a connection violates its framing. The connection is closed, because the
 * start of the next message is unknown.
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
