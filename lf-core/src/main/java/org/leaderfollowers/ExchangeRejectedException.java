package org.leaderfollowers;

import java.io.Serial;

import org.jspecify.annotations.Nullable;

/**
 * A request was not sent: there was no connection for it, or the maximum number of
 * exchanges was under way. It can be repeated.
 */
public class ExchangeRejectedException extends ExchangeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message what failed, with which peer, and what to do
	 * @param cause why, or {@code null}
	 */
	public ExchangeRejectedException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
