package org.leaderfollowers.spring.server;

import java.util.Collection;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a pool is asked for that does not exist.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public class UnknownPoolException extends RuntimeException {

	private final String pool;

	private final List<String> knownPools;

	private final @Nullable String property;

	/**
	 * Creates a new exception.
	 * @param pool the pool that was asked for
	 * @param knownPools the pools that there are
	 * @param property the property that names the pool, if it was one
	 */
	public UnknownPoolException(String pool, Collection<String> knownPools, @Nullable String property) {
		super("There is no pool named '%s'. Known pools: %s".formatted(pool, String.join(", ", knownPools)));
		this.pool = pool;
		this.knownPools = List.copyOf(knownPools);
		this.property = property;
	}

	/**
	 * Returns the pool that was asked for.
	 * @return the name of the pool
	 */
	public String getPool() {
		return this.pool;
	}

	/**
	 * Returns the pools that there are.
	 * @return the names of the pools
	 */
	public List<String> getKnownPools() {
		return this.knownPools;
	}

	/**
	 * Returns the property that names the pool.
	 * @return the name of the property, or {@code null} if code asked for the pool
	 */
	public @Nullable String getProperty() {
		return this.property;
	}

}
