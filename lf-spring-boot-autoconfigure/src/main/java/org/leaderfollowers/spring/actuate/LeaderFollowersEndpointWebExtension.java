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
 * it identifies the caller for the audit, returns the reason of a refusal, and shows a
 * page to browsers.
 */
@EndpointWebExtension(endpoint = LeaderFollowersEndpoint.class)
@ImportRuntimeHints(LeaderFollowersEndpointWebExtension.TaxiStandHints.class)
@RegisterReflectionForBinding(RefusedRequestException.RefusalDescriptor.class)
public class LeaderFollowersEndpointWebExtension {

	/**
	 * The live page that shows Leader/Followers at work, named after the paper's example
	 * from everyday life. It is one file without parameters, which fetches its data as
	 * JSON from its own address.
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
	 * Shows the taxi stand to clients that ask for HTML, such as browsers. A client that
	 * accepts any type gets JSON: if two media types match equally well, Spring MVC and
	 * WebFlux choose the first in the alphabet.
	 * @return the page
	 */
	@ReadOperation(produces = "text/html;charset=UTF-8")
	public Resource taxiStand() {
		return TAXI_STAND;
	}

	/**
	 * Shows one pool.
	 * @param pool the name of the pool
	 * @return the pool, or the reason of the refusal if there is none of this name
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> pool(@Selector String pool) {
		return RefusedRequestException.answer(() -> this.delegate.existingPool(pool));
	}

	/**
	 * Shows one server.
	 * @param securityContext the identity of the caller
	 * @param pool the name of the pool that serves it
	 * @param server the name of the server
	 * @return the server, or the reason of the refusal if the pool serves none of this
	 * name
	 */
	@ReadOperation
	public WebEndpointResponse<OperationResponseBody> server(SecurityContext securityContext, @Selector String pool,
			@Selector String server) {
		return RefusedRequestException.answer(() -> this.delegate.existingServer(securityContext, pool, server));
	}

	/**
	 * Changes a running pool immediately.
	 * @param securityContext the identity of the caller
	 * @param pool the name of the pool
	 * @param minThreads the minimum number of threads, which are kept even when idle
	 * @param maxThreads the maximum number of threads
	 * @param policy {@code adaptive} or {@code eager}
	 * @param lease how long a leader may run a handler before a follower takes over
	 * @return the changed pool, or the reason of the refusal
	 */
	@WriteOperation
	public WebEndpointResponse<OperationResponseBody> changePool(SecurityContext securityContext, @Selector String pool,
			@Nullable String minThreads, @Nullable String maxThreads, @Nullable String policy, @Nullable String lease) {
		return RefusedRequestException.answer(() -> this.delegate.changePool(Operator.of(securityContext), pool,
				minThreads, maxThreads, policy, lease));
	}

	/**
	 * Pauses, resumes, drains or evacuates a server, or changes the limits of its
	 * clients.
	 * @param securityContext the identity of the caller
	 * @param pool the name of the pool that serves it
	 * @param server the name of the server
	 * @param action {@code pause}, {@code resume}, {@code drain}, {@code evacuate} or
	 * {@code limit}
	 * @param timeout how long it may drain; the timeout of a shutdown phase if not given
	 * @param rate how many connections an evacuation closes, such as {@code 50/s}
	 * @param maxConnections for {@code limit}: a number, or {@code none}
	 * @param connectionsPerSecond for {@code limit}: a number, or {@code none}
	 * @param messagesPerSecond for {@code limit}: a number, or {@code none}
	 * @param bytesPerSecond for {@code limit}: a size, or {@code none}
	 * @param failedLoginsPerMinute for {@code limit}: a number, or {@code none}
	 * @param limitAction for {@code limit}: {@code suspend}, {@code refuse} or
	 * {@code close}
	 * @return the changed server, or the reason of the refusal
	 */
	@WriteOperation
	public WebEndpointResponse<OperationResponseBody> changeServer(SecurityContext securityContext,
			@Selector String pool, @Selector String server, @Nullable String action, @Nullable String timeout,
			@Nullable String rate, @Nullable String maxConnections, @Nullable String connectionsPerSecond,
			@Nullable String messagesPerSecond, @Nullable String bytesPerSecond, @Nullable String failedLoginsPerMinute,
			@Nullable String limitAction) {
		return RefusedRequestException.answer(() -> this.delegate.changeServer(Operator.of(securityContext), pool,
				server, action, timeout, rate, new LimitOperations.Arguments(maxConnections, connectionsPerSecond,
						messagesPerSecond, bytesPerSecond, failedLoginsPerMinute, limitAction)));
	}

	/**
	 * Closes a connection when all messages that were received have been answered.
	 * @param securityContext the identity of the caller
	 * @param pool the name of the pool
	 * @param server the name of the server
	 * @param connection the identifier of the connection
	 * @param timeout how long this may take, 0 to close the connection at once; the
	 * timeout of a shutdown phase if not given
	 * @return no body, or the reason of the refusal
	 */
	@DeleteOperation
	public WebEndpointResponse<OperationResponseBody> closeConnection(SecurityContext securityContext,
			@Selector String pool, @Selector String server, @Selector String connection, @Nullable String timeout) {
		return RefusedRequestException.answer(() -> {
			this.delegate.closeConnection(Operator.of(securityContext), pool, server, connection, timeout);
			return null;
		});
	}

	/**
	 * {@link RuntimeHintsRegistrar} that includes the page in a native image.
	 */
	static class TaxiStandHints implements RuntimeHintsRegistrar {

		@Override
		public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
			hints.resources().registerResource(TAXI_STAND);
		}

	}

}
