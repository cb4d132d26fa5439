package org.leaderfollowers.sample.backend;

import java.io.Serial;

/**
 * A transaction cannot be carried out. It is rolled back.
 */
class RejectedException extends RuntimeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param reason why, in words for the client
	 */
	RejectedException(String reason) {
		super(reason);
	}

}
