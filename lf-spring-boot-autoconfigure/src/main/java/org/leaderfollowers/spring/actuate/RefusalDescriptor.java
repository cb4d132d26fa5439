package org.leaderfollowers.spring.actuate;

import java.util.function.Supplier;

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
	 */
	static WebEndpointResponse<OperationResponseBody> orElse(Supplier<? extends OperationResponseBody> operation) {
		try {
			return new WebEndpointResponse<>(operation.get());
		}
		catch (RefusedRequestException ex) {
			return new WebEndpointResponse<>(new RefusalDescriptor(String.valueOf(ex.getReason())), ex.status());
		}
	}

}
