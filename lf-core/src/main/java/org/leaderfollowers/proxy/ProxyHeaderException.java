package org.leaderfollowers.proxy;

import java.io.Serial;

/**
 * The input does not begin with a valid header of the PROXY protocol.
 */
public class ProxyHeaderException extends RuntimeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message what is wrong, to be put behind a colon, without anything that was
	 * received
	 */
	public ProxyHeaderException(String message) {
		super(message);
	}

}
