package org.leaderfollowers.spring.actuate;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;

import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
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
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;
import org.springframework.util.Assert;

/**
 * {@link EndpointWebExtension @EndpointWebExtension} for {@link LeaderFollowersEndpoint}:
 * tells the audit who it was, and the caller what was wrong, and shows a page to a
 * browser.
 */
@EndpointWebExtension(endpoint = LeaderFollowersEndpoint.class)
@ImportRuntimeHints(LeaderFollowersEndpointWebExtension.TaxiStandHints.class)
@RegisterReflectionForBinding(RefusedRequestException.RefusalDescriptor.class)
public class LeaderFollowersEndpointWebExtension {

	/**
	 * The live page that shows Leader/Followers at work, named after the paper's example
	 * from everyday life. It is one file without parameters, which fetches what it shows
	 * as JSON from its own address.
	 */
	private static final Resource TAXI_STAND = new ClassPathResource("taxi-stand.html",
			LeaderFollowersEndpointWebExtension.class);

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
	@ReadOperation(produces = "text/html;charset=UTF-8")
	public Resource taxiStand() {
		return TAXI_STAND;
	}

	/**
	 * Shows one pool.
	 * @param pool the name of the pool
	 * @return the pool, or that there is none of this name
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> pool(@Selector String pool) {
		return RefusedRequestException.answer(() -> this.delegate.existingPool(pool));
	}

	/**
	 * Shows one server.
	 * @param pool the name of the pool that serves it
	 * @param server the name of the server
	 * @return the server, or that the pool serves none of this name
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> server(@Selector String pool, @Selector String server) {
		return RefusedRequestException.answer(() -> this.delegate.existingServer(pool, server));
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
		return RefusedRequestException.answer(() -> this.delegate.changePool(Operator.of(securityContext), pool,
				minThreads, maxThreads, policy, lease));
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
		return RefusedRequestException
			.answer(() -> this.delegate.changeServer(Operator.of(securityContext), pool, server, action, timeout));
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
		return RefusedRequestException.answer(() -> {
			this.delegate.closeConnection(Operator.of(securityContext), pool, server, connection);
			return null;
		});
	}

	/**
	 * {@link RuntimeHintsRegistrar} that takes the page into a native image.
	 */
	static class TaxiStandHints implements RuntimeHintsRegistrar {

		@Override
		public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
			hints.resources().registerResource(TAXI_STAND);
		}

	}

}
