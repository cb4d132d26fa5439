package org.leaderfollowers.spring.actuate;

import java.util.Collection;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.internal.Printable;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * Thrown when an operation is refused. Nothing has changed then. Over JMX, the caller
 * receives its message.
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
	 * For invalid values.
	 */
	static RefusedRequestException invalid(String reason) {
		return new RefusedRequestException(WebEndpointResponse.STATUS_BAD_REQUEST, reason);
	}

	/**
	 * For connections of a server that has none.
	 */
	static RefusedRequestException withoutConnections() {
		return invalid("The server has no connections, since its transport is UDP");
	}

	/**
	 * For unknown names. The reason does not repeat the name, since the caller knows it.
	 */
	static RefusedRequestException unknown(String what, Collection<String> known) {
		return new RefusedRequestException(WebEndpointResponse.STATUS_NOT_FOUND,
				known.isEmpty() ? "There is no such %s".formatted(what)
						: "There is no such %s, only: %s".formatted(what, Printable.of(String.join(", ", known))));
	}

	/**
	 * For operations that the current state does not allow, but another state would.
	 */
	static RefusedRequestException conflict(String reason) {
		return new RefusedRequestException(STATUS_CONFLICT, reason);
	}

	/**
	 * Answers a request over the web.
	 * @param operation returns the body, or {@code null} for an answer without a body
	 */
	static WebEndpointResponse<OperationResponseBody> answer(
			Supplier<? extends @Nullable OperationResponseBody> operation) {
		try {
			OperationResponseBody body = operation.get();
			return new WebEndpointResponse<>(body,
					(body != null) ? WebEndpointResponse.STATUS_OK : WebEndpointResponse.STATUS_NO_CONTENT);
		}
		catch (RefusedRequestException ex) {
			return new WebEndpointResponse<>(new RefusalDescriptor(String.valueOf(ex.getReason())), ex.status);
		}
	}

	/**
	 * The body of the answer to an operation that was refused.
	 *
	 * @param reason the mistake and its correction, for people
	 */
	record RefusalDescriptor(String reason) implements OperationResponseBody {
	}

}
