package org.leaderfollowers.internal.proxy;

import java.io.IOException;
import java.io.Serial;

/**
 * The input does not begin with a valid header of the PROXY protocol.
 */
public class ProxyHeaderException extends IOException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message what is wrong, in words that do not come from the peer
	 */
	public ProxyHeaderException(String message) {
		super(message);
	}

}
