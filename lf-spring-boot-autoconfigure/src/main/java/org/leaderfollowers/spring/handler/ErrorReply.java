package org.leaderfollowers.spring.handler;

import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * Reply to the client for a failure that was handled: a message, a close of the
 * connection, both, or neither. Immutable.
 */
public final class ErrorReply {

	private static final ErrorReply NONE = new ErrorReply(null, false);

	private final @Nullable Object payload;

	private final boolean closing;

	private ErrorReply(@Nullable Object payload, boolean closing) {
		this.payload = payload;
		this.closing = closing;
	}

	/**
	 * Returns a reply that sends a message to the client.
	 * @param payload any value that a method that is annotated with
	 * {@link org.leaderfollowers.spring.annotation.OnMessage @OnMessage} can return
	 * @return the reply, after which the connection stays open
	 */
	public static ErrorReply of(Object payload) {
		Assert.notNull(payload, "'payload' must not be null");
		return new ErrorReply(payload, false);
	}

	/**
	 * Returns a reply that sends no message to the client.
	 * @return the reply, after which the connection stays open
	 */
	public static ErrorReply none() {
		return NONE;
	}

	/**
	 * Returns a reply that sends the same message, if any, and then closes the
	 * connection.
	 * @return the reply, after which the connection is closed
	 */
	public ErrorReply thenClose() {
		return new ErrorReply(this.payload, true);
	}

	/**
	 * Returns the message to the client.
	 * @return the payload, or {@code null} for no message
	 */
	public @Nullable Object payload() {
		return this.payload;
	}

	/**
	 * Returns whether the connection is closed after the message.
	 * @return {@code false} if it stays open
	 */
	public boolean isClosing() {
		return this.closing;
	}

}
