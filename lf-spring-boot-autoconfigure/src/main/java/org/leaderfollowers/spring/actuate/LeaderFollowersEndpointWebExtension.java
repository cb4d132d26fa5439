package org.leaderfollowers.spring.actuate;

import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.io.Resource;
import org.springframework.util.Assert;

/**
 * {@link EndpointWebExtension @EndpointWebExtension} for {@link LeaderFollowersEndpoint}:
 * tells the audit who it was, and the caller what was wrong, and shows a page to a
 * browser.
 */
@EndpointWebExtension(endpoint = LeaderFollowersEndpoint.class)
@ImportRuntimeHints(TaxiStand.Hints.class)
@RegisterReflectionForBinding(RefusalDescriptor.class)
public class LeaderFollowersEndpointWebExtension {

	private final LeaderFollowersEndpoint delegate;

	/**
	 * Creates a new extension.
	 * @param delegate the endpoint to extend
	 */
	public LeaderFollowersEndpointWebExtension(LeaderFollowersEndpoint delegate) {
		Assert.notNull(delegate, "'delegate' must not be null");
		this.delegate = delegate;
	}

	/**
	 * Shows the taxi stand to those who ask for HTML, such as a browser. Whoever accepts
	 * anything gets JSON: of two media types that suit equally well, Spring MVC and
	 * WebFlux take the one that comes first in the alphabet.
	 * @return the page
	 */
	@ReadOperation(produces = TaxiStand.MEDIA_TYPE)
	public Resource taxiStand() {
		return TaxiStand.page();
	}

	/**
	 * Shows one pool.
	 * @param pool the name of the pool
	 * @return the pool, or that there is none of this name
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> pool(@Selector String pool) {
		return RefusalDescriptor.orElse(() -> this.delegate.existingPool(pool));
	}

	/**
	 * Shows one server.
	 * @param pool the name of the pool that serves it
	 * @param server the name of the server
	 * @return the server, or that the pool serves none of this name
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> server(@Selector String pool, @Selector String server) {
		return RefusalDescriptor.orElse(() -> this.delegate.existingServer(pool, server));
	}

	/**
	 * Changes a pool at once and while it runs.
	 * @param securityContext who asks for it
	 * @param pool the name of the pool
	 * @param minThreads how many threads are kept even when idle
	 * @param maxThreads how many threads there may be
	 * @param policy {@code adaptive} or {@code eager}
	 * @param lease how long a leader may run a handler before a follower takes over
	 * @return the pool as it is now, or why nothing was done
	 */
	@WriteOperation
	public WebEndpointResponse<OperationResponseBody> changePool(SecurityContext securityContext, @Selector String pool,
			@Nullable String minThreads, @Nullable String maxThreads, @Nullable String policy, @Nullable String lease) {
		return RefusalDescriptor.orElse(() -> this.delegate.changePool(Operator.of(securityContext), pool, minThreads,
				maxThreads, policy, lease));
	}

	/**
	 * Pauses, resumes or drains a server.
	 * @param securityContext who asks for it
	 * @param pool the name of the pool that serves it
	 * @param server the name of the server
	 * @param action {@code pause}, {@code resume} or {@code drain}
	 * @param timeout how long it may drain; as long as a phase of the shutdown if not
	 * given
	 * @return the server as it is now, or why nothing was done
	 */
	@WriteOperation
	public WebEndpointResponse<OperationResponseBody> changeServer(SecurityContext securityContext,
			@Selector String pool, @Selector String server, @Nullable String action, @Nullable String timeout) {
		return RefusalDescriptor
			.orElse(() -> this.delegate.changeServer(Operator.of(securityContext), pool, server, action, timeout));
	}

	/**
	 * Closes a connection, after what was accepted for sending has been written.
	 * @param securityContext who asks for it
	 * @param pool the name of the pool
	 * @param server the name of the server
	 * @param connection what identifies the connection
	 * @return nothing, or why nothing was done
	 */
	@DeleteOperation
	public WebEndpointResponse<OperationResponseBody> closeConnection(SecurityContext securityContext,
			@Selector String pool, @Selector String server, @Selector String connection) {
		return RefusalDescriptor.orElse(() -> {
			this.delegate.closeConnection(Operator.of(securityContext), pool, server, connection);
			return null;
		});
	}

}
