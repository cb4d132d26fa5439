package org.leaderfollowers;

/**
 * A message is not handled, because its client has exceeded a limit that applies to each
 * client. If nothing handles this exception, the connection is closed with
 * {@link CloseReason#CLIENT_LIMIT}. It has no stack trace, because a client can cause
 * many of them.
 */
public class ClientLimitException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	/**
	 * Creates an exception.
	 * @param message the limit, for people
	 */
	public ClientLimitException(String message) {
		super(message, null, false, false);
	}

}
