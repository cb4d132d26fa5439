package org.leaderfollowers.spring.actuate;

import java.time.Instant;
import java.util.Comparator;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionEntry;
import org.leaderfollowers.spring.session.SessionNode;

import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

/**
 * {@link Endpoint @Endpoint} that shows which nodes there are, and who holds which
 * session.
 */
@Endpoint(id = "lfsessions", defaultAccess = Access.READ_ONLY)
public class SessionsEndpoint {

	private static final int SIZE = 20;

	private static final int GREATEST_SIZE = 500;

	private final LfSessions sessions;

	/**
	 * Creates a new endpoint.
	 * @param sessions the sessions to show
	 */
	public SessionsEndpoint(LfSessions sessions) {
		Assert.notNull(sessions, "'sessions' must not be null");
		this.sessions = sessions;
	}

	/**
	 * Shows the nodes, and the latest sessions of this one.
	 * @param size the maximum number of sessions, from 0 to 500; 20 if not given
	 * @return the nodes and sessions
	 */
	@ReadOperation
	public SessionsDescriptor sessions(@Nullable String size) {
		int limit = OperationArguments.integer("size", size, SIZE, 0, GREATEST_SIZE);
		return new SessionsDescriptor(Instant.now(), this.sessions.directory().node(),
				this.sessions.directory().problem(), this.sessions.directory().nodes(), this.sessions.counters().open(),
				this.sessions.held()
					.stream()
					.sorted(Comparator.comparingLong(SessionEntry::epoch).reversed())
					.limit(limit)
					.map(SessionDescriptor::of)
					.toList());
	}

	/**
	 * Finds who holds a session, on whatever node.
	 * @param name the name of the session
	 * @return the session, or {@code null} if nobody holds it
	 */
	@ReadOperation
	public @Nullable SessionDescriptor session(@Selector String name) {
		if (!StringUtils.hasText(name)) {
			return null;
		}
		try {
			return this.sessions.get(name).map(SessionDescriptor::of).orElse(null);
		}
		catch (ExchangeException ex) {
			throw RefusedRequestException.conflict(String.valueOf(ex.getMessage()));
		}
	}

	/**
	 * {@link EndpointWebExtension @EndpointWebExtension} for {@link SessionsEndpoint}: it
	 * returns the reason of a refusal.
	 */
	@EndpointWebExtension(endpoint = SessionsEndpoint.class)
	@RegisterReflectionForBinding(RefusedRequestException.RefusalDescriptor.class)
	public static class WebExtension {

		private final SessionsEndpoint delegate;

		/**
		 * Creates a new extension.
		 * @param delegate the endpoint to extend
		 */
		public WebExtension(SessionsEndpoint delegate) {
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

	/**
	 * The nodes, and sessions of this one.
	 *
	 * @param time when they were looked at
	 * @param node identifies this node
	 * @param problem why other nodes cannot be reached at present, or {@code null}
	 * @param nodes the nodes that can be reached, this one first
	 * @param open how many sessions this node holds
	 * @param sessions the latest of them
	 */
	public record SessionsDescriptor(Instant time, String node, @Nullable String problem, List<SessionNode> nodes,
			long open, List<SessionDescriptor> sessions) implements OperationResponseBody {
	}

	/**
	 * A session.
	 *
	 * @param name the name
	 * @param node identifies the node that holds it
	 * @param server the name of the server of the connection
	 * @param since when the connection took the name
	 * @param epoch the fencing number
	 * @param takeovers how often the name was taken from an open connection lately
	 */
	public record SessionDescriptor(String name, String node, String server, Instant since, long epoch,
			int takeovers) implements OperationResponseBody {

		static SessionDescriptor of(SessionEntry entry) {
			return new SessionDescriptor(entry.name(), entry.node(), entry.server(), entry.since(), entry.epoch(),
					entry.takeovers());
		}

	}

}
