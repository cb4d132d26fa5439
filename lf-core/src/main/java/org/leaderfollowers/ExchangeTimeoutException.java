package org.leaderfollowers;

import java.io.Serial;

import org.jspecify.annotations.Nullable;

/**
 * The reply to a request did not come in time. The peer may have executed the request. If
 * the reply still comes, it is counted as late, and is never given to another caller.
 */
public class ExchangeTimeoutException extends ExchangeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message what failed, with which peer, and what to do
	 * @param cause why, or {@code null}
	 */
	public ExchangeTimeoutException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
