package org.leaderfollowers.spring.handler;

import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * What comes of a failure that was handled. Immutable.
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
	 * A message to the client.
	 * @param payload whatever a method that is annotated with
	 * {@link org.leaderfollowers.spring.annotation.OnMessage @OnMessage} can return
	 * @return the reply, after which the connection stays open
	 */
	public static ErrorReply of(Object payload) {
		Assert.notNull(payload, "'payload' must not be null");
		return new ErrorReply(payload, false);
	}

	/**
	 * No message to the client.
	 * @return the reply, after which the connection stays open
	 */
	public static ErrorReply none() {
		return NONE;
	}

	/**
	 * Closes the connection after the message was written, if there is one.
	 * @return the reply, after which the connection is closed
	 */
	public ErrorReply thenClose() {
		return new ErrorReply(this.payload, true);
	}

	/**
	 * What the client is told.
	 * @return the payload, or {@code null} for nothing
	 */
	public @Nullable Object payload() {
		return this.payload;
	}

	/**
	 * Whether the connection is closed afterwards.
	 * @return {@code false} if it stays open
	 */
	public boolean isClosing() {
		return this.closing;
	}

}
