package org.leaderfollowers.spring.handler;

import java.io.Serial;

import org.jspecify.annotations.Nullable;

import org.springframework.messaging.converter.MessageConversionException;

/**
 * Thrown if a message cannot be converted to the type that a handler method expects, or
 * an object cannot be converted to a message. The message of this exception contains no
 * part of the payload, but the messages of its causes may.
 */
public class PayloadConversionException extends MessageConversionException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message names the source and the target of the conversion, without the
	 * payload
	 * @param cause the exception of the converter, or {@code null} if there is none
	 */
	public PayloadConversionException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
