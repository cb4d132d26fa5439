package org.leaderfollowers;

import java.io.Serial;

/**
 * A reply to a datagram was not accepted because the replies would be larger, compared
 * with the datagram, than the server allows. The address of a datagram can be forged: a
 * server that sends much for little is a weapon against whoever has that address.
 */
public class ReplyRatioException extends IllegalStateException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message how much was refused, the limit, and how to change it
	 */
	public ReplyRatioException(String message) {
		super(message);
	}

}
