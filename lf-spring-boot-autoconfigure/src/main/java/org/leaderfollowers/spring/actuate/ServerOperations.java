package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.util.List;
import java.util.Map;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;
import org.leaderfollowers.spring.internal.Printable;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.util.StringUtils;

/**
 * Pauses, resumes, drains and evacuates servers, and closes connections.
 */
final class ServerOperations {

	private static final Log logger = LogFactory.getLog(LeaderFollowersEndpoint.class);

	private static final Duration LONGEST_DRAIN = Duration.ofDays(1);

	private final LeaderFollowersServers servers;

	private final Duration drainTimeout;

	private final WriteAudit audit;

	private final LimitOperations limits;

	ServerOperations(LeaderFollowersServers servers, ClientLimiters limiters, Duration drainTimeout, WriteAudit audit) {
		this.servers = servers;
		this.drainTimeout = (drainTimeout.compareTo(LONGEST_DRAIN) > 0) ? LONGEST_DRAIN : drainTimeout;
		this.audit = audit;
		this.limits = new LimitOperations(limiters, audit);
	}

	ServerDescriptor change(Operator operator, String pool, String name, @Nullable String action,
			@Nullable String timeout, @Nullable String rate, LimitOperations.Arguments limits) {
		Action asked = OperationArguments.constant("action", action, Action.class);
		if (asked == null) {
			throw RefusedRequestException
				.invalid("Nothing to do: give 'action' ('pause', 'resume', 'drain', 'evacuate' or 'limit'), "
						+ "with 'drain', if you like, 'timeout', with 'evacuate' 'rate', and with 'limit' the limits");
		}
		Duration within = OperationArguments.duration("timeout", timeout);
		if (within != null && asked != Action.DRAIN) {
			throw RefusedRequestException.invalid("'timeout' is for the action 'drain' only");
		}
		if (asked != Action.LIMIT && !limits.areEmpty()) {
			throw RefusedRequestException.invalid("Limits are for the action 'limit' only");
		}
		if (asked == Action.EVACUATE) {
			return evacuate(operator, pool, name, OperationArguments.rate("rate", rate));
		}
		if (StringUtils.hasText(rate)) {
			throw RefusedRequestException.invalid("'rate' is for the action 'evacuate' only");
		}
		if (asked == Action.LIMIT) {
			Server server = this.servers.get(name);
			this.limits.change(operator, pool, server, limits);
			return ServerDescriptor.of(server.snapshot(), null, this.limits.limiters().get(name), false);
		}
		return (asked == Action.DRAIN) ? drain(operator, pool, name, (within != null) ? within : this.drainTimeout)
				: this.audit.write(() -> pauseOrResume(operator, pool, name, asked == Action.PAUSE));
	}

	private ServerDescriptor pauseOrResume(Operator operator, String pool, String name, boolean pause) {
		Server server = this.servers.get(name);
		ServerSnapshot.State state = server.snapshot().state();
		if (state == ServerSnapshot.State.DRAINING || state == ServerSnapshot.State.STOPPED) {
			throw RefusedRequestException.conflict("The server is " + state + ": only the application can start "
					+ "it again, by a start of its context");
		}
		boolean before = server.isPaused();
		try {
			if (pause) {
				this.servers.pause(name, operator.by());
			}
			else {
				this.servers.resume(name, operator.by());
			}
		}
		finally {
			// Recorded even if a listener of the event fails.
			if (server.isPaused() != before) {
				this.audit.record(operator, pause ? WriteAudit.SERVER_PAUSED : WriteAudit.SERVER_RESUMED,
						Map.of("pool", pool, "server", name), Map.of("paused", before), Map.of("paused", pause));
			}
		}
		return ServerDescriptor.of(server.snapshot());
	}

	private ServerDescriptor drain(Operator operator, String pool, String name, Duration within) {
		requireTimeout(within);
		return this.audit.write(() -> {
			ServerSnapshot.State before = this.servers.get(name).snapshot().state();
			ServerSnapshot draining;
			try {
				draining = this.servers.drain(name, within, operator.by());
			}
			catch (IllegalStateException ex) {
				throw RefusedRequestException.conflict("The server cannot be drained, since it is " + before);
			}
			this.audit.record(operator, WriteAudit.SERVER_DRAINED,
					Map.of("pool", pool, "server", name, "timeout", within.toString()), Map.of("state", before.name()),
					Map.of("state", draining.state().name()));
			return ServerDescriptor.of(draining);
		});
	}

	private static void requireTimeout(Duration within) {
		if (within.isNegative() || within.compareTo(LONGEST_DRAIN) > 0) {
			throw RefusedRequestException
				.invalid("'timeout' must be from 0 to %s, but is %s".formatted(LONGEST_DRAIN, within));
		}
	}

	private ServerDescriptor evacuate(Operator operator, String pool, String name, @Nullable CloseRate rate) {
		if (rate == null) {
			throw RefusedRequestException
				.invalid("The action 'evacuate' needs 'rate': how many connections to close, such as '50/s'");
		}
		return this.audit.write(() -> {
			Server server = this.servers.get(name);
			if (!(server instanceof TcpServer)) {
				throw RefusedRequestException.withoutConnections();
			}
			ServerSnapshot before = server.snapshot();
			ServerSnapshot evacuated;
			try {
				evacuated = this.servers.evacuate(name, rate, operator.by());
			}
			catch (IllegalStateException ex) {
				throw RefusedRequestException
					.conflict("The server cannot be evacuated, since it is " + server.snapshot().state());
			}
			this.audit.record(operator, WriteAudit.SERVER_EVACUATED, Map.of("pool", pool, "server", name),
					state(before), Map.of("state", evacuated.state().name(), "rate", rate.toString()));
			return ServerDescriptor.of(evacuated);
		});
	}

	private static Map<String, String> state(ServerSnapshot server) {
		ServerSnapshot.Evacuation evacuation = server.evacuation();
		return (evacuation != null) ? Map.of("state", server.state().name(), "rate", evacuation.rate().toString())
				: Map.of("state", server.state().name());
	}

	void closeConnection(Operator operator, String pool, Server server, String connection, @Nullable String timeout) {
		Long id = OperationArguments.number("connection", connection, 1, Long.MAX_VALUE);
		Duration given = OperationArguments.duration("timeout", timeout);
		Duration within = (given != null) ? given : this.drainTimeout;
		requireTimeout(within);
		if (!(server instanceof TcpServer tcpServer)) {
			throw RefusedRequestException.withoutConnections();
		}
		Connection open = (id != null) ? tcpServer.connection(id) : null;
		if (open == null) {
			throw RefusedRequestException.unknown("open connection", List.of());
		}
		if (open.isOpen()) {
			open.close(within);
			logger.info(Printable.of("Connection %d of server '%s' is closed%s, %s".formatted(id, server.name(),
					operator.by(), within.isZero() ? "at once" : "within %d ms".formatted(within.toMillis()))));
			this.audit.record(operator, WriteAudit.CONNECTION_CLOSED, Map.of("pool", pool, "server", server.name(),
					"connection", String.valueOf(id), "timeout", within.toString()), Map.of(), Map.of());
		}
	}

	private enum Action {

		PAUSE, RESUME, DRAIN, EVACUATE, LIMIT

	}

}
