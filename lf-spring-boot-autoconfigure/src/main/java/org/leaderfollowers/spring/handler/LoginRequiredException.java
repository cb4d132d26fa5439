package org.leaderfollowers.spring.handler;

import java.io.Serial;

/**
 * Thrown if a client sends a message other than a login before it has
 * {@linkplain org.leaderfollowers.spring.annotation.OnLogin logged in}.
 */
public class LoginRequiredException extends IllegalStateException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param cause names the messages that the login methods accept
	 */
	public LoginRequiredException(UnmatchedMessageException cause) {
		super("The client has not logged in, and this message is not a login", cause);
	}

}
