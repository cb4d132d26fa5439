package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.WireLog;
import org.leaderfollowers.spring.actuate.ConnectionsEndpoint.WireLogDescriptor;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;
import org.leaderfollowers.spring.internal.Printable;

import org.springframework.util.StringUtils;

/**
 * Turns wire logs of servers on and off.
 *
 * @param limits the longest duration, whether bytes may be shown, and the maximum sizes
 * @param audit records the changes
 */
record WireLogOperations(WireLog.Options limits, WriteAudit audit) {

	private static final Log logger = LogFactory.getLog(ConnectionsEndpoint.class);

	private static final Duration DEFAULT_DURATION = Duration.ofSeconds(60);

	static List<WireLogDescriptor> running(List<TcpServer> servers) {
		List<WireLogDescriptor> wireLogs = new ArrayList<>();
		for (TcpServer server : servers) {
			WireLog.Snapshot running = server.wireLog().snapshot();
			if (running != null) {
				wireLogs.add(WireLogDescriptor.of(server, running));
			}
		}
		return wireLogs;
	}

	/**
	 * Turns a log on or off.
	 * @param server the server of the log, or {@code null} if the request does not name
	 * it
	 */
	@Nullable WireLogDescriptor change(Operator operator, @Nullable String wireLog, @Nullable TcpServer server,
			@Nullable String connection, @Nullable String duration, @Nullable String payload) {
		Toggle toggle = OperationArguments.constant("wireLog", wireLog, Toggle.class);
		if (toggle == null || server == null) {
			throw RefusedRequestException
				.invalid("Nothing to do: give 'wireLog' ('on' or 'off') and 'server', and with 'on', if you like, "
						+ "'connection', 'duration' and 'payload'");
		}
		if (toggle == Toggle.ON) {
			WireLog.Options options = options(server, connection, duration, payload);
			return this.audit.write(() -> start(operator, server, options));
		}
		if (StringUtils.hasText(connection) || StringUtils.hasText(duration) || StringUtils.hasText(payload)) {
			throw RefusedRequestException.invalid("'connection', 'duration' and 'payload' are for 'on' only");
		}
		return this.audit.write(() -> stop(operator, server));
	}

	private WireLog.Options options(TcpServer server, @Nullable String connection, @Nullable String duration,
			@Nullable String payload) {
		Long id = OperationArguments.number("connection", connection, 1, Long.MAX_VALUE);
		if (id != null && server.connection(id) == null) {
			throw RefusedRequestException.unknown("open connection", List.of());
		}
		Duration most = this.limits.duration();
		Duration asked = OperationArguments.duration("duration", duration);
		Duration within = (asked != null) ? asked : (DEFAULT_DURATION.compareTo(most) < 0) ? DEFAULT_DURATION : most;
		if (within.isNegative() || within.isZero() || within.compareTo(most) > 0) {
			throw RefusedRequestException
				.invalid("'duration' must be more than 0 and at most %s, but is %s".formatted(most, within));
		}
		boolean unmasked = OperationArguments.flag("payload", payload);
		if (unmasked && !this.limits.payload()) {
			throw RefusedRequestException
				.conflict("The payload must not be logged: the property 'lf.logging.wire.payload' does not allow it");
		}
		return new WireLog.Options((id != null) ? id : 0, within, unmasked, this.limits.maxSegmentSize(),
				this.limits.maxSize());
	}

	private WireLogDescriptor start(Operator operator, TcpServer server, WireLog.Options options) {
		WireLog.Snapshot started;
		try {
			started = server.wireLog().start(options);
		}
		catch (IllegalStateException ex) {
			throw RefusedRequestException.conflict(String.valueOf(ex.getMessage()));
		}
		Map<String, String> subject = subject(server);
		if (options.connection() != 0) {
			subject.put("connection", String.valueOf(options.connection()));
		}
		subject.put("duration", options.duration().toString());
		subject.put("payload", String.valueOf(options.payload()));
		written(operator, WriteAudit.WIRE_LOG_STARTED, subject, "is on");
		return WireLogDescriptor.of(server, started);
	}

	private @Nullable WireLogDescriptor stop(Operator operator, TcpServer server) {
		WireLog.Snapshot stopped = server.wireLog().stop();
		if (stopped == null) {
			return null;
		}
		written(operator, WriteAudit.WIRE_LOG_STOPPED, subject(server), "is off");
		return WireLogDescriptor.of(server, stopped);
	}

	private static Map<String, String> subject(TcpServer server) {
		Map<String, String> subject = new LinkedHashMap<>();
		subject.put("pool", server.pool().name());
		subject.put("server", server.name());
		return subject;
	}

	private void written(Operator operator, String type, Map<String, String> subject, String state) {
		logger.info(Printable
			.of("The wire log of server '%s' %s%s".formatted(subject.get("server"), state, operator.by())));
		this.audit.record(operator, type, subject, Map.of(), Map.of());
	}

	private enum Toggle {

		ON, OFF

	}

}
