package org.leaderfollowers.spring.actuate;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.actuate.SessionsEndpoint.SessionDescriptor;

import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;
import org.springframework.util.Assert;

/**
 * {@link EndpointWebExtension @EndpointWebExtension} for {@link SessionsEndpoint}: it
 * returns the reason of a refusal.
 */
@EndpointWebExtension(endpoint = SessionsEndpoint.class)
@RegisterReflectionForBinding(RefusedRequestException.RefusalDescriptor.class)
public class SessionsEndpointWebExtension {

	private final SessionsEndpoint delegate;

	/**
	 * Creates a new extension.
	 * @param delegate the endpoint to extend
	 */
	public SessionsEndpointWebExtension(SessionsEndpoint delegate) {
		Assert.notNull(delegate, "'delegate' must not be null");
		this.delegate = delegate;
	}

	/**
	 * Shows the nodes, and the latest sessions of this one.
	 * @param size the maximum number of sessions
	 * @return the nodes and sessions, or the reason of the refusal
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> sessions(@Nullable String size) {
		return RefusedRequestException.answer(() -> this.delegate.sessions(size));
	}

	/**
	 * Finds who holds a session, on whatever node.
	 * @param name the name of the session
	 * @return the session, or the reason of the refusal
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> session(@Selector String name) {
		return RefusedRequestException.answer(() -> {
			SessionDescriptor session = this.delegate.session(name);
			if (session == null) {
				throw RefusedRequestException.unknown("session", List.of());
			}
			return session;
		});
	}

}
