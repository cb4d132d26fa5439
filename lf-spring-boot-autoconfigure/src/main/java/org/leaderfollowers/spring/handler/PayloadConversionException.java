package org.leaderfollowers.spring.handler;

import java.io.Serial;

import org.jspecify.annotations.Nullable;

import org.springframework.messaging.converter.MessageConversionException;

/**
 * A message could not be converted to the type that a handler method expects. The message
 * of the exception has nothing of the payload in it, but those of its causes may have.
 */
public class PayloadConversionException extends MessageConversionException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message what could not be converted to what, without the payload
	 * @param cause what the converter says
	 */
	public PayloadConversionException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
