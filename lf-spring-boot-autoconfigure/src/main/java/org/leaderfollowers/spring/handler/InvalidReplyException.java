package org.leaderfollowers.spring.handler;

import java.io.Serial;

/**
 * The reply to an exchange could not be converted, or is not valid. The peer has executed
 * the request. The message of the exception has nothing of the payload in it; its cause
 * is a {@link PayloadConversionException}, a {@link PayloadValidationException}, or what
 * a converter has thrown.
 */
public class InvalidReplyException extends RuntimeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message which method of which interface got the reply
	 * @param cause what is wrong with the reply
	 */
	public InvalidReplyException(String message, Throwable cause) {
		super(message, cause);
	}

}
