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
 * {@link EndpointWebExtension @EndpointWebExtension} for {@link ConnectionsEndpoint}:
 * knows who asks for addresses, and tells the caller what was wrong.
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
	 * @param securityContext who asks for it
	 * @param server the name of the server; all servers if not given
	 * @param state the state that they are in; all if not given
	 * @param sort what to sort by, with a {@code -} in front for the greatest first
	 * @param page the number of the page, from 0
	 * @param size how many connections make a page
	 * @return a page, or what was wrong with the request
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
	 * @param securityContext who asks for it
	 * @param wireLog {@code on} or {@code off}
	 * @param server the name of the server
	 * @param connection what identifies the only connection to log; all if not given
	 * @param duration how long to log; 60 seconds if not given
	 * @param payload {@code true} to show bytes. They are masked if not given
	 * @return the log that was turned on or off, or why nothing was done
	 */
	@WriteOperation
	public WebEndpointResponse<OperationResponseBody> changeWireLog(SecurityContext securityContext,
			@Nullable String wireLog, @Nullable String server, @Nullable String connection, @Nullable String duration,
			@Nullable String payload) {
		return RefusedRequestException.answer(() -> this.delegate.changeWireLog(Operator.of(securityContext), wireLog,
				server, connection, duration, payload));
	}

}
