package org.leaderfollowers.sample.client;

import java.io.Serial;

/** A line is not a valid request. */
public class InvalidRequestException extends RuntimeException {

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
