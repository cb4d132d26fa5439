package org.leaderfollowers.spring.limit;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;

import org.springframework.util.Assert;

/**
 * How much each client of a server may use.
 *
 * @param values the limits that are set, each from 1 to {@value #GREATEST}
 * @param action the consequence of too many messages or bytes
 */
public record ClientLimits(Map<Limit, Long> values, Action action) {

	/** The greatest value of each limit. */
	public static final long GREATEST = 1_000_000_000;

	/**
	 * Checks and copies the values.
	 * @param values the limits that are set
	 * @param action the consequence of too many messages or bytes
	 */
	public ClientLimits {
		values.forEach((limit, value) -> Assert.isTrue(value >= 1 && value <= GREATEST,
				() -> "'%s' must be from 1 to %d, but is %d".formatted(limit.property(), GREATEST, value)));
		Map<Limit, Long> copy = new EnumMap<>(Limit.class);
		copy.putAll(values);
		values = copy;
	}

	/**
	 * Returns the values in the order of the limits.
	 * @return a copy
	 */
	@Override
	public Map<Limit, Long> values() {
		return new EnumMap<>(this.values);
	}

	@Nullable Long get(Limit limit) {
		return this.values.get(limit);
	}

	/** The limits. */
	public enum Limit {

		/** Open connections. */
		MAX_CONNECTIONS,

		/** New connections. */
		CONNECTIONS_PER_SECOND,

		/** Messages, or datagrams. */
		MESSAGES_PER_SECOND,

		/** Bytes of messages, without their framing. */
		BYTES_PER_SECOND,

		/** Logins that failed. */
		FAILED_LOGINS_PER_MINUTE;

		/**
		 * The last part of the name of the property.
		 * @return words with hyphens
		 */
		public String property() {
			return name().toLowerCase(Locale.ROOT).replace('_', '-');
		}

		/**
		 * Whether the limit applies to datagrams, too.
		 * @return {@code false} if only connections can exceed it
		 */
		public boolean isForDatagrams() {
			return this == MESSAGES_PER_SECOND || this == BYTES_PER_SECOND;
		}

		/**
		 * Whether exceeding this limit can have an effect.
		 * @param effect the effect
		 * @param datagrams whether the server receives datagrams
		 * @return {@code false} if it never does
		 */
		public boolean isPossible(ClientLimiter.Effect effect, boolean datagrams) {
			if (datagrams || effect == ClientLimiter.Effect.DROP) {
				return datagrams && isForDatagrams() && effect == ClientLimiter.Effect.DROP;
			}
			return isForDatagrams() || effect == ClientLimiter.Effect.REFUSE || effect == ClientLimiter.Effect.CLOSE;
		}

	}

	/** The consequence of too many messages or bytes on a connection. */
	public enum Action {

		/**
		 * The message is handled, and then nothing is read from the connection until the
		 * client is within its limits.
		 */
		SUSPEND,

		/**
		 * The message is not handled: its handling fails with a
		 * {@link org.leaderfollowers.ClientLimitException}.
		 */
		REFUSE,

		/**
		 * The message is not handled, and the connection is closed with the reason
		 * {@link CloseReason#CLIENT_LIMIT}.
		 */
		CLOSE

	}

}
