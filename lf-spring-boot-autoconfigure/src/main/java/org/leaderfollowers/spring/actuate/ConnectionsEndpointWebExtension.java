package org.leaderfollowers.spring.actuate;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;

import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;
import org.springframework.util.Assert;

/**
 * {@link EndpointWebExtension @EndpointWebExtension} for {@link ConnectionsEndpoint}: it
 * identifies the caller, and returns the reason of a refusal.
 */
@EndpointWebExtension(endpoint = ConnectionsEndpoint.class)
@RegisterReflectionForBinding(RefusedRequestException.RefusalDescriptor.class)
public class ConnectionsEndpointWebExtension {

	private final ConnectionsEndpoint delegate;

	/**
	 * Creates a new extension.
	 * @param delegate the endpoint to extend
	 */
	public ConnectionsEndpointWebExtension(ConnectionsEndpoint delegate) {
		Assert.notNull(delegate, "'delegate' must not be null");
		this.delegate = delegate;
	}

	/**
	 * Shows a page of the connections.
	 * @param securityContext the identity of the caller
	 * @param server the name of the server; all servers if not given
	 * @param state the state of the connections; all states if not given
	 * @param sort the order, with a {@code -} in front for descending order
	 * @param page the number of the page, from 0
	 * @param size the maximum number of connections on a page
	 * @return a page, or the reason of the refusal
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> connections(SecurityContext securityContext,
			@Nullable String server, @Nullable String state, @Nullable String sort, @Nullable String page,
			@Nullable String size) {
		return RefusedRequestException
			.answer(() -> this.delegate.connections(securityContext, server, state, sort, page, size));
	}

	/**
	 * Turns the wire log of a server on or off.
	 * @param securityContext the identity of the caller
	 * @param wireLog {@code on} or {@code off}
	 * @param server the name of the server
	 * @param connection the identifier of the only connection to log; all if not given
	 * @param duration how long to log; 60 seconds if not given
	 * @param payload {@code true} to show bytes; they are masked if not given
	 * @return the log that was turned on or off, if any, or the reason of the refusal
	 */
	@WriteOperation
	public WebEndpointResponse<OperationResponseBody> changeWireLog(SecurityContext securityContext,
			@Nullable String wireLog, @Nullable String server, @Nullable String connection, @Nullable String duration,
			@Nullable String payload) {
		return RefusedRequestException.answer(() -> this.delegate.changeWireLog(Operator.of(securityContext), wireLog,
				server, connection, duration, payload));
	}

}
