package org.leaderfollowers.spring.handler;

import java.io.Serial;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if a message matches none of the methods that are annotated with
 * {@link org.leaderfollowers.spring.annotation.OnMessage @OnMessage}, and there is no
 * default method. The message of the exception contains no part of the payload.
 */
public class UnmatchedMessageException extends RuntimeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/** The type of the message, if it contains one. */
	private final @Nullable String type;

	/**
	 * Creates the exception.
	 * @param message names the messages that the methods handle
	 * @param type the type of the message, or {@code null} if it contains none
	 */
	public UnmatchedMessageException(String message, @Nullable String type) {
		super(message);
		this.type = type;
	}

	/**
	 * Returns the type of the message.
	 * @return the value of the JSON property, as the client sent it, or {@code null} if
	 * it is missing or methods are not chosen by type
	 */
	public @Nullable String getType() {
		return this.type;
	}

}
