package org.leaderfollowers.spring.handler;

import java.io.Serial;

/**
 * A client has sent a message that is not a login before it has
 * {@linkplain org.leaderfollowers.spring.annotation.OnLogin logged in}.
 */
public class LoginRequiredException extends IllegalStateException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param cause what the methods that log in are for
	 */
	public LoginRequiredException(UnmatchedMessageException cause) {
		super("The client has not logged in, and this message is not a login", cause);
	}

}
