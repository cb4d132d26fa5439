package org.leaderfollowers;

import java.io.Serial;

import org.jspecify.annotations.Nullable;

/**
 * A request has no reply. {@link ExchangeRejectedException}: it was not sent.
 * {@link ExchangeTimeoutException} and {@link ExchangeLostException}: it was sent, and
 * the peer may have executed it.
 */
public abstract class ExchangeException extends RuntimeException {

	@Serial
	private static final long serialVersionUID = 1L;

	/**
	 * Creates the exception.
	 * @param message what failed, with which peer, and what to do
	 * @param cause why, or {@code null}
	 */
	ExchangeException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
