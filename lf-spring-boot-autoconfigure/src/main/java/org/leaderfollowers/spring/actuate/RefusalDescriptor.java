package org.leaderfollowers.spring.actuate;

import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * Why an operation was not done, as the body of the answer.
 *
 * @param reason what was wrong and what would be right, for people
 */
public record RefusalDescriptor(String reason) implements OperationResponseBody {

	/**
	 * Answers a request over the web.
	 * @param operation returns the body, or {@code null} if there is none to return
	 */
	static WebEndpointResponse<OperationResponseBody> orElse(
			Supplier<? extends @Nullable OperationResponseBody> operation) {
		try {
			OperationResponseBody body = operation.get();
			return new WebEndpointResponse<>(body,
					(body != null) ? WebEndpointResponse.STATUS_OK : WebEndpointResponse.STATUS_NO_CONTENT);
		}
		catch (RefusedRequestException ex) {
			return new WebEndpointResponse<>(new RefusalDescriptor(String.valueOf(ex.getReason())), ex.status());
		}
	}

}
