package org.leaderfollowers.spring.limit;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientKey;

/**
 * The limits that apply to each client, by server. Any thread.
 */
public final class ClientLimiters implements AutoCloseable {

	private final @Nullable ClientKey keys;

	private final LongSupplier nanoTime;

	private final SuspensionTimer timer = new SuspensionTimer();

	private final Map<String, ClientLimiter> limiters = new ConcurrentHashMap<>();

	/**
	 * Creates an empty object.
	 * @param keys identifies clients, or {@code null} if their addresses do
	 */
	public ClientLimiters(@Nullable ClientKey keys) {
		this(keys, System::nanoTime);
	}

	ClientLimiters(@Nullable ClientKey keys, LongSupplier nanoTime) {
		this.keys = keys;
		this.nanoTime = nanoTime;
	}

	/**
	 * Adds a server whose clients have limits.
	 * @param server the name of the server
	 * @param datagrams whether it receives datagrams
	 * @param limits the limits, which can be changed later
	 * @param maxClients how many clients are counted one by one
	 * @param ipv4Length how many bits of an IPv4 address are the key of a client
	 * @param ipv6Length how many bits of an IPv6 address are the key of a client
	 * @return the limits of the server
	 */
	public ClientLimiter add(String server, boolean datagrams, ClientLimits limits, int maxClients, int ipv4Length,
			int ipv6Length) {
		ClientLimiter limiter = new ClientLimiter(server, datagrams, limits, this.keys,
				new ClientTable(maxClients, ipv4Length, ipv6Length, this.nanoTime), this.timer, this.nanoTime);
		this.limiters.put(server, limiter);
		return limiter;
	}

	/**
	 * Finds the limits of a server.
	 * @param server the name of the server
	 * @return {@code null} if its clients have no limits
	 */
	public @Nullable ClientLimiter get(String server) {
		return this.limiters.get(server);
	}

	/** Ends the thread that resumes connections. */
	@Override
	public void close() {
		this.timer.close();
	}

}
