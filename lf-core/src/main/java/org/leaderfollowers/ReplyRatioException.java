package org.leaderfollowers;

import java.io.Serial;

/**
 * A reply to a datagram was not accepted because the replies would exceed the server's
 * maximum ratio to the size of the datagram. The address of a datagram can be forged, so
 * a server that sends large replies to small datagrams could be used to attack the owner
 * of this address.
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
