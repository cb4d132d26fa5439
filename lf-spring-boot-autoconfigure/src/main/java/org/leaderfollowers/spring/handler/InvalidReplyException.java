package org.leaderfollowers.spring.handler;

import java.io.Serial;

/**
 * Thrown if the reply to an exchange cannot be converted or is not valid. The peer has
 * already executed the request. The message of the exception contains no part of the
 * payload. Its cause is a {@link PayloadConversionException}, a
 * {@link PayloadValidationException}, or the exception of a converter.
 */
public class InvalidReplyException extends RuntimeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message names the method and the interface that received the reply
	 * @param cause the reason why the reply is rejected
	 */
	public InvalidReplyException(String message, Throwable cause) {
		super(message, cause);
	}

}
