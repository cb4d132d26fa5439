package org.leaderfollowers;

import java.io.Serial;

/**
 * A message was not accepted because the peer does not read and the maximum number of
 * bytes waits for it. The connection stays open unless this exception leaves a handler
 * method.
 */
public class SlowConsumerException extends IllegalStateException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message how much waits, the limit, and how to change it
	 */
	public SlowConsumerException(String message) {
		super(message);
	}

}
