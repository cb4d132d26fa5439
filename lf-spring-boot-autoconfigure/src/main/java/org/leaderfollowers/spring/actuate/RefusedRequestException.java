package org.leaderfollowers.spring.actuate;

import java.util.Collection;

import org.leaderfollowers.spring.logging.Printable;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * Thrown when an operation cannot do what it is asked for. Nothing has changed then. Over
 * JMX its message is what the caller gets to see.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
class RefusedRequestException extends InvalidEndpointRequestException {

	private static final int STATUS_CONFLICT = 409;

	private final int status;

	private RefusedRequestException(int status, String reason) {
		super(reason, reason);
		this.status = status;
	}

	/**
	 * For values that do not fit.
	 */
	static RefusedRequestException invalid(String reason) {
		return new RefusedRequestException(WebEndpointResponse.STATUS_BAD_REQUEST, reason);
	}

	/**
	 * For names that nothing has. The name is not repeated: who asked knows it.
	 */
	static RefusedRequestException unknown(String what, Collection<String> known) {
		return new RefusedRequestException(WebEndpointResponse.STATUS_NOT_FOUND,
				known.isEmpty() ? "There is no such %s".formatted(what)
						: "There is no such %s, only: %s".formatted(what, Printable.of(String.join(", ", known))));
	}

	/**
	 * For what cannot be done as things are, but could be at another time.
	 */
	static RefusedRequestException conflict(String reason) {
		return new RefusedRequestException(STATUS_CONFLICT, reason);
	}

	/**
	 * The HTTP status that fits.
	 */
	int status() {
		return this.status;
	}

}
