package org.leaderfollowers.spring.actuate;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;

import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;
import org.springframework.util.Assert;

/**
 * {@link EndpointWebExtension @EndpointWebExtension} for {@link HandOffsEndpoint}: it
 * identifies the caller for the audit, and returns the reason of a refusal.
 */
@EndpointWebExtension(endpoint = HandOffsEndpoint.class)
@RegisterReflectionForBinding(RefusedRequestException.RefusalDescriptor.class)
public class HandOffsEndpointWebExtension {

	private final HandOffsEndpoint delegate;

	/**
	 * Creates a new extension.
	 * @param delegate the endpoint to extend
	 */
	public HandOffsEndpointWebExtension(HandOffsEndpoint delegate) {
		Assert.notNull(delegate, "'delegate' must not be null");
		this.delegate = delegate;
	}

	/**
	 * Shows the latest hand-offs.
	 * @param pool the name of the pool; all pools if not given
	 * @param after the number of a hand-off; only hand-offs with greater numbers are
	 * returned
	 * @param limit the maximum number of hand-offs
	 * @return the hand-offs, or the reason of the refusal
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> handOffs(@Nullable String pool, @Nullable String after,
			@Nullable String limit) {
		return RefusedRequestException.answer(() -> this.delegate.handOffs(pool, after, limit));
	}

	/**
	 * Shows the latest hand-offs and removes them from the pools.
	 * @param securityContext the identity of the caller
	 * @param pool the name of the pool; all pools if not given
	 * @return the hand-offs, or the reason of the refusal
	 */
	@DeleteOperation
	public WebEndpointResponse<OperationResponseBody> drainHandOffs(SecurityContext securityContext,
			@Nullable String pool) {
		return RefusedRequestException.answer(() -> this.delegate.drainHandOffs(Operator.of(securityContext), pool));
	}

}
