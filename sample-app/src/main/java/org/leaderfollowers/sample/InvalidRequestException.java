package org.leaderfollowers.sample;

import java.io.Serial;

/**
 * A line is no request.
 */
class InvalidRequestException extends RuntimeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param reason what is wrong, in words for the client
	 */
	InvalidRequestException(String reason) {
		super(reason);
	}

}
