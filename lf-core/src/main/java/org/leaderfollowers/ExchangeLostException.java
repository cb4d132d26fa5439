package org.leaderfollowers;

import java.io.Serial;

import org.jspecify.annotations.Nullable;

/**
 * The connection ended, or the calling thread was interrupted, before the reply to a
 * request came. The peer may have executed the request.
 */
public class ExchangeLostException extends ExchangeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message what failed, with which peer, and what to do
	 * @param cause why, or {@code null}
	 */
	public ExchangeLostException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
