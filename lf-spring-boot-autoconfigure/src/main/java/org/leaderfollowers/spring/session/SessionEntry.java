package org.leaderfollowers.spring.session;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * Says which connection a name belongs to: the value that a {@link SessionDirectory}
 * keeps for a name.
 *
 * @param name the name
 * @param node the {@linkplain SessionDirectory#node() identifier} of the node that holds
 * the connection
 * @param server the name of the server of the connection
 * @param epoch the fencing number: it grows with each connection that takes the name, on
 * whatever node. Whoever holds the name with a lower epoch holds it no longer
 * @param since when the connection took the name, by the clock of its node
 * @param takeovers how often the name was taken from an open connection since
 * {@code takeoversSince}
 * @param takeoversSince when the period began that takeovers are counted for
 */
public record SessionEntry(String name, String node, String server, long epoch, Instant since, int takeovers,
		Instant takeoversSince) {

	/**
	 * Creates an entry.
	 * @param name the name
	 * @param node the identifier of the node
	 * @param server the name of the server
	 * @param epoch the fencing number, more than 0
	 * @param since when the connection took the name
	 * @param takeovers how often the name was taken over, at least 0
	 * @param takeoversSince when the period of the takeovers began
	 * @throws IllegalArgumentException if a text is {@code null} or a number is negative
	 */
	public SessionEntry {
		Assert.notNull(name, "'name' must not be null");
		Assert.notNull(node, "'node' must not be null");
		Assert.notNull(server, "'server' must not be null");
		Assert.notNull(since, "'since' must not be null");
		Assert.notNull(takeoversSince, "'takeoversSince' must not be null");
		Assert.isTrue(epoch > 0, "'epoch' must be positive");
		Assert.isTrue(takeovers >= 0, "'takeovers' must not be negative");
	}

	/**
	 * Creates the entry of a new connection.
	 * <p>
	 * The epoch is the time in microseconds, or one more than the previous and the latest
	 * epoch if one of these is not less: a hybrid logical clock (Kulkarni et al., 2014).
	 * So it also grows after an entry was removed or lost, and of two entries that were
	 * made on both sides of a partition, the later login has the higher one, as far as
	 * the clocks agree.
	 * @param previous the current entry of the name, or {@code null} if there is none
	 * @param isHeld whether the node of the previous entry is alive, so that this is a
	 * takeover
	 * @param claim who wants the name
	 * @param latestEpoch the greatest epoch that the node has given before, for any name,
	 * or 0. A caller that makes one entry at a time never gives an epoch twice
	 * @param now the current time
	 * @return the new entry
	 * @throws SessionContestedException if the name was taken over too often
	 */
	public static SessionEntry next(@Nullable SessionEntry previous, boolean isHeld, SessionClaim claim,
			long latestEpoch, Instant now) {
		long epoch = Math.max(ChronoUnit.MICROS.between(Instant.EPOCH, now), latestEpoch + 1);
		if (previous == null) {
			return new SessionEntry(claim.name(), claim.node(), claim.server(), epoch, now, 0, now);
		}
		epoch = Math.max(epoch, previous.epoch + 1);
		boolean samePeriod = Duration.between(previous.takeoversSince, now).abs().compareTo(claim.takeoverPeriod()) < 0;
		int before = samePeriod ? previous.takeovers : 0;
		if (isHeld && before >= claim.maxTakeovers()) {
			throw new SessionContestedException(previous, claim);
		}
		return new SessionEntry(claim.name(), claim.node(), claim.server(), epoch, now, isHeld ? before + 1 : before,
				samePeriod ? previous.takeoversSince : now);
	}

	/**
	 * Whether this entry prevails over another one for the same name: the higher epoch
	 * does. If two sides of a partition gave the same epoch, the identifiers of the nodes
	 * decide, so that all nodes decide alike.
	 * @param other another entry for the same name
	 * @return {@code false} if the entries are of the same epoch and node
	 */
	public boolean prevailsOver(SessionEntry other) {
		return (this.epoch != other.epoch) ? this.epoch > other.epoch : this.node.compareTo(other.node) > 0;
	}

	/**
	 * Whether another entry is about the same connection.
	 * @param other another entry, or {@code null}
	 * @return whether name, node and epoch are equal
	 */
	public boolean isSameSession(@Nullable SessionEntry other) {
		return other != null && this.epoch == other.epoch && this.node.equals(other.node)
				&& this.name.equals(other.name);
	}

}
