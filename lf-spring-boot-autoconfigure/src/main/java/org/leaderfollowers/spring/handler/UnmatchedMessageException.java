package org.leaderfollowers.spring.handler;

import java.io.Serial;

import org.jspecify.annotations.Nullable;

/**
 * A message is for none of the methods of its handler that are annotated with
 * {@link org.leaderfollowers.spring.annotation.OnMessage @OnMessage}, and there is no
 * default method. The message of the exception has nothing of the payload in it.
 */
public class UnmatchedMessageException extends RuntimeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/** What the message is, if it says so. */
	private final @Nullable String type;

	/**
	 * Creates the exception.
	 * @param message what the methods are for
	 * @param type what the message is, if it says so
	 */
	public UnmatchedMessageException(String message, @Nullable String type) {
		super(message);
		this.type = type;
	}

	/**
	 * The type that the message has.
	 * @return the value of the JSON property, as the client sent it, or {@code null} if
	 * there is none or methods are chosen otherwise
	 */
	public @Nullable String getType() {
		return this.type;
	}

}
