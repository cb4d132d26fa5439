package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.HandOff;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;
import org.leaderfollowers.spring.internal.Printable;
import org.leaderfollowers.spring.server.LeaderFollowersPools;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

/**
 * {@link Endpoint @Endpoint} that shows the latest hand-offs of leadership, one by one.
 */
@Endpoint(id = "lfhandoffs", defaultAccess = Access.READ_ONLY)
public class HandOffsEndpoint {

	private static final Log logger = LogFactory.getLog(HandOffsEndpoint.class);

	private static final int LIMIT = 500;

	private static final int GREATEST_LIMIT = 10_000;

	private final LeaderFollowersPools pools;

	private final WriteAudit audit;

	/**
	 * Creates a new endpoint.
	 * @param pools the pools whose hand-offs are shown
	 * @param publisher publishes each drain as an event for Boot's audit
	 */
	public HandOffsEndpoint(LeaderFollowersPools pools, ApplicationEventPublisher publisher) {
		Assert.notNull(pools, "'pools' must not be null");
		Assert.notNull(publisher, "'publisher' must not be null");
		this.pools = pools;
		this.audit = new WriteAudit(publisher);
	}

	/**
	 * Shows the latest hand-offs.
	 * @param pool the name of the pool; all pools if not given
	 * @param after the number of a hand-off; only hand-offs with greater numbers are
	 * returned
	 * @param limit the maximum number of hand-offs, from 1 to 10000; 500 if not given. If
	 * there are more, only the latest are returned
	 * @return the hand-offs, newest last
	 */
	@ReadOperation
	public HandOffsDescriptor handOffs(@Nullable String pool, @Nullable String after, @Nullable String limit) {
		List<LeaderFollowersPool> chosen = chosen(pool);
		Long known = OperationArguments.number("after", after, Long.MIN_VALUE, Long.MAX_VALUE);
		int most = OperationArguments.integer("limit", limit, LIMIT, 1, GREATEST_LIMIT);
		List<HandOffDescriptor> handOffs = collect(chosen, LeaderFollowersPool::handOffs);
		if (known != null) {
			handOffs.removeIf((handOff) -> handOff.number() <= known);
		}
		return new HandOffsDescriptor(Instant.now(),
				List.copyOf(handOffs.subList(Math.max(0, handOffs.size() - most), handOffs.size())));
	}

	/**
	 * Shows the latest hand-offs and removes them from the pools.
	 * @param pool the name of the pool; all pools if not given
	 * @return all hand-offs that the pools have kept, newest last
	 */
	@DeleteOperation
	public HandOffsDescriptor drainHandOffs(@Nullable String pool) {
		return drainHandOffs(Operator.UNKNOWN, pool);
	}

	HandOffsDescriptor drainHandOffs(Operator operator, @Nullable String pool) {
		List<LeaderFollowersPool> chosen = chosen(pool);
		List<HandOffDescriptor> handOffs = collect(chosen, LeaderFollowersPool::drainHandOffs);
		if (!handOffs.isEmpty()) {
			String names = String.join(", ", chosen.stream().map(LeaderFollowersPool::name).toList());
			logger.info(Printable
				.of("%d hand-offs of %s are forgotten%s".formatted(handOffs.size(), names, operator.by())));
			this.audit.record(operator, WriteAudit.HAND_OFFS_DRAINED,
					Map.of("pools", names, "handOffs", String.valueOf(handOffs.size())), Map.of(), Map.of());
		}
		return new HandOffsDescriptor(Instant.now(), handOffs);
	}

	private List<LeaderFollowersPool> chosen(@Nullable String name) {
		List<LeaderFollowersPool> pools = new ArrayList<>();
		this.pools.forEach(pools::add);
		if (!StringUtils.hasText(name)) {
			return pools;
		}
		List<LeaderFollowersPool> chosen = pools.stream().filter((pool) -> pool.name().equals(name)).toList();
		if (chosen.isEmpty()) {
			throw RefusedRequestException.unknown("pool", pools.stream().map(LeaderFollowersPool::name).toList());
		}
		return chosen;
	}

	private static List<HandOffDescriptor> collect(List<LeaderFollowersPool> pools,
			Function<LeaderFollowersPool, List<HandOff>> source) {
		List<HandOffDescriptor> handOffs = new ArrayList<>();
		for (LeaderFollowersPool pool : pools) {
			source.apply(pool).forEach((handOff) -> handOffs.add(HandOffDescriptor.of(pool.name(), handOff)));
		}
		if (pools.size() > 1) {
			// The sort is stable, so the hand-offs of one pool keep their order.
			handOffs.sort(Comparator.comparing(HandOffDescriptor::at));
		}
		return handOffs;
	}

	/**
	 * The latest hand-offs.
	 *
	 * @param time when the hand-offs were read
	 * @param handOffs the hand-offs, newest last
	 */
	public record HandOffsDescriptor(Instant time, List<HandOffDescriptor> handOffs) implements OperationResponseBody {
	}

	/**
	 * A hand-off of leadership.
	 *
	 * @param pool the name of the pool
	 * @param number counts the hand-offs of the pool; a number is never used again
	 * @param at when the new leader took the leadership
	 * @param handleSet the name of the handle set or event source that is led
	 * @param from the name of the thread that led before, or {@code null} if no thread of
	 * the pool did
	 * @param to the name of the thread that leads now
	 * @param kind how the new leader came to lead
	 * @param vacancy how long there was no leader
	 * @param server the name of the server that the handle belongs to, or {@code null}
	 * @param handle the handle that the old leader then processed, or {@code null} if it
	 * only gave up the leadership
	 * @param handler the name of the handler that processes it, or {@code null} if the
	 * engine itself does
	 */
	public record HandOffDescriptor(String pool, long number, Instant at, String handleSet, @Nullable String from,
			String to, PromotionKind kind, Duration vacancy, @Nullable String server, @Nullable String handle,
			@Nullable String handler) {

		static HandOffDescriptor of(String pool, HandOff handOff) {
			return new HandOffDescriptor(pool, handOff.number(), handOff.at(), handOff.handleSet(), handOff.from(),
					handOff.to(), handOff.kind(), handOff.vacancy(), handOff.server(), handOff.handle(),
					handOff.handler());
		}

	}

}
