package org.leaderfollowers.spring.server;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.util.Assert;

/**
 * The pools of an application context, by name: those that are beans, and those that are
 * configured by properties. The latter are built when they are first needed, and closed
 * with this object.
 */
public final class LeaderFollowersPools implements Iterable<LeaderFollowersPool>, AutoCloseable {

	/**
	 * The timeout for handlers that still run although their server was stopped. They
	 * have already had the time of the graceful shutdown.
	 */
	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);

	private final Map<String, Supplier<LeaderFollowersPool>> configured;

	private final Map<String, LeaderFollowersPool> pools = new TreeMap<>();

	private final List<LeaderFollowersPool> owned = new ArrayList<>();

	/**
	 * Creates the pools of an application context.
	 * @param existing pools that others have built and close
	 * @param configured builds further pools, by name; existing pools have precedence
	 * @throws IllegalArgumentException if two existing pools have the same name
	 */
	public LeaderFollowersPools(Collection<LeaderFollowersPool> existing,
			Map<String, Supplier<LeaderFollowersPool>> configured) {
		Assert.notNull(existing, "'existing' must not be null");
		Assert.notNull(configured, "'configured' must not be null");
		this.configured = Map.copyOf(configured);
		for (LeaderFollowersPool pool : existing) {
			LeaderFollowersPool other = this.pools.putIfAbsent(pool.name(), pool);
			Assert.isTrue(other == null,
					() -> "There are two pools named '%s': give one of them another name".formatted(pool.name()));
		}
	}

	/**
	 * Returns a pool.
	 * @param name the name of the pool
	 * @return the pool, which may have no threads yet
	 * @throws UnknownNameException if there is no pool of this name
	 */
	public LeaderFollowersPool get(String name) {
		LeaderFollowersPool pool = find(name);
		if (pool == null) {
			throw new UnknownNameException(Kind.POOL, name, names(), null);
		}
		return pool;
	}

	private synchronized @Nullable LeaderFollowersPool find(String name) {
		LeaderFollowersPool pool = this.pools.get(name);
		if (pool == null) {
			Supplier<LeaderFollowersPool> supplier = this.configured.get(name);
			if (supplier != null) {
				pool = supplier.get();
				this.owned.add(pool);
				this.pools.put(name, pool);
			}
		}
		return pool;
	}

	/**
	 * Returns the names of all existing and configured pools.
	 * @return the names in alphabetical order
	 */
	public synchronized Set<String> names() {
		Set<String> names = new TreeSet<>(this.configured.keySet());
		names.addAll(this.pools.keySet());
		return names;
	}

	/**
	 * Returns the pools that have been built, in the order of their names.
	 */
	@Override
	public synchronized Iterator<LeaderFollowersPool> iterator() {
		return List.copyOf(this.pools.values()).iterator();
	}

	/**
	 * Closes the pools that this object has built. Handlers that still run are
	 * interrupted after 2 seconds.
	 */
	@Override
	public void close() {
		List<LeaderFollowersPool> closing;
		synchronized (this) {
			closing = List.copyOf(this.owned);
			this.owned.clear();
		}
		for (LeaderFollowersPool pool : closing) {
			pool.close(CLOSE_TIMEOUT);
		}
	}

}
