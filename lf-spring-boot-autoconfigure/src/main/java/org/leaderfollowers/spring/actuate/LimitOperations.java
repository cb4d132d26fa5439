package org.leaderfollowers.spring.actuate;

import java.util.LinkedHashMap;
import java.util.Map;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Server;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;
import org.leaderfollowers.spring.internal.Printable;
import org.leaderfollowers.spring.limit.ClientLimiter;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.limit.ClientLimits;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;

import org.springframework.util.StringUtils;

/**
 * Changes the limits that apply to each client of a server.
 *
 * @param limiters the limits of the servers
 * @param audit records the changes
 */
record LimitOperations(ClientLimiters limiters, WriteAudit audit) {

	private static final Log logger = LogFactory.getLog(LeaderFollowersEndpoint.class);

	private static final String NONE = "none";

	/**
	 * The arguments of a change, each of which may be missing.
	 *
	 * @param maxConnections see {@link Limit#MAX_CONNECTIONS}
	 * @param connectionsPerSecond see {@link Limit#CONNECTIONS_PER_SECOND}
	 * @param messagesPerSecond see {@link Limit#MESSAGES_PER_SECOND}
	 * @param bytesPerSecond see {@link Limit#BYTES_PER_SECOND}
	 * @param failedLoginsPerMinute see {@link Limit#FAILED_LOGINS_PER_MINUTE}
	 * @param limitAction the action
	 */
	record Arguments(@Nullable String maxConnections, @Nullable String connectionsPerSecond,
			@Nullable String messagesPerSecond, @Nullable String bytesPerSecond, @Nullable String failedLoginsPerMinute,
			@Nullable String limitAction) {

		boolean areEmpty() {
			return !StringUtils.hasText(this.maxConnections) && !StringUtils.hasText(this.connectionsPerSecond)
					&& !StringUtils.hasText(this.messagesPerSecond) && !StringUtils.hasText(this.bytesPerSecond)
					&& !StringUtils.hasText(this.failedLoginsPerMinute) && !StringUtils.hasText(this.limitAction);
		}

		private ClientLimits applyTo(ClientLimiter limiter) {
			ClientLimits before = limiter.limits();
			Map<Limit, Long> values = before.values();
			boolean datagrams = limiter.isForDatagrams();
			put(values, datagrams, Limit.MAX_CONNECTIONS, "maxConnections", this.maxConnections);
			put(values, datagrams, Limit.CONNECTIONS_PER_SECOND, "connectionsPerSecond", this.connectionsPerSecond);
			put(values, datagrams, Limit.MESSAGES_PER_SECOND, "messagesPerSecond", this.messagesPerSecond);
			put(values, datagrams, Limit.BYTES_PER_SECOND, "bytesPerSecond", this.bytesPerSecond);
			put(values, datagrams, Limit.FAILED_LOGINS_PER_MINUTE, "failedLoginsPerMinute", this.failedLoginsPerMinute);
			Action action = OperationArguments.constant("limitAction", this.limitAction, Action.class);
			if (action != null && datagrams) {
				throw withoutConnections("limitAction");
			}
			return new ClientLimits(values, (action != null) ? action : before.action());
		}

		private static void put(Map<Limit, Long> values, boolean datagrams, Limit limit, String name,
				@Nullable String value) {
			if (!StringUtils.hasText(value)) {
				return;
			}
			if (datagrams && !limit.isForDatagrams()) {
				throw withoutConnections(name);
			}
			Long number = NONE.equalsIgnoreCase(value.strip()) ? null
					: (limit == Limit.BYTES_PER_SECOND)
							? OperationArguments.bytes(name, value, 1, ClientLimits.GREATEST)
							: OperationArguments.number(name, value, 1, ClientLimits.GREATEST);
			if (number != null) {
				values.put(limit, number);
			}
			else {
				values.remove(limit);
			}
		}

		private static RefusedRequestException withoutConnections(String name) {
			return RefusedRequestException
				.invalid("'%s' is for connections, but the server receives datagrams".formatted(name));
		}

	}

	/** Changes the limits. Limits that are not given do not change. */
	void change(Operator operator, String pool, Server server, Arguments arguments) {
		if (arguments.areEmpty()) {
			throw RefusedRequestException.invalid("Nothing to change: give 'maxConnections', 'connectionsPerSecond', "
					+ "'messagesPerSecond', 'bytesPerSecond', 'failedLoginsPerMinute' or 'limitAction', or several of "
					+ "them. 'none' removes a limit");
		}
		ClientLimiter limiter = this.limiters.get(server.name());
		if (limiter == null) {
			throw RefusedRequestException.conflict("The clients of the server have no limits that could be changed: "
					+ "start the application with a property such as 'per-client.messages-per-second' of this server");
		}
		this.audit.write(() -> {
			ClientLimits before = limiter.limits();
			ClientLimits after = arguments.applyTo(limiter);
			if (!after.equals(before)) {
				limiter.change(after);
				logger.info(Printable.of("The limits for each client of server '%s' are changed%s: %s, were %s"
					.formatted(server.name(), operator.by(), values(after), values(before))));
				this.audit.record(operator, WriteAudit.SERVER_LIMITED, Map.of("pool", pool, "server", server.name()),
						values(before), values(after));
			}
			return after;
		});
	}

	private static Map<String, Object> values(ClientLimits limits) {
		Map<String, Object> values = new LinkedHashMap<>(ClientLimitsDescriptor.values(limits));
		values.put("action", limits.action().name());
		return values;
	}

}
