package org.leaderfollowers.spring.limit;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * The clients of a server, by address prefix or by the key of the application. The table
 * is bounded. When it is full, new clients are counted together by wider prefixes, which
 * are bounded as well, and at last all together. An attacker with many addresses
 * therefore neither fills the memory nor changes what known clients may use.
 * <p>
 * A client that nobody uses and whose limits have recovered can be forgotten without any
 * effect. Each thread that adds a client looks for a few of these, so no timer is needed.
 * <p>
 * The map serializes changes of one key, so a client is never removed while a thread adds
 * a user: both happen in {@code compute}.
 */
final class ClientTable {

	private static final int[] WIDER_IPV4 = { 24, 16 };

	private static final int[] WIDER_IPV6 = { 56, 48, 32 };

	private static final int LEVELS = WIDER_IPV6.length + 1;

	/**
	 * By which factor the limits of a wider prefix are higher than those of the next
	 * narrower one: it stands for several clients, most of which are not attackers.
	 */
	private static final int SHARE = 8;

	/** How many clients are looked at when one is added to a table with room. */
	private static final int LOOKS = 2;

	/** How many clients are looked at when one is to be added to a full table. */
	private static final int LOOKS_WHEN_FULL = 16;

	private static final int FEWEST_AGGREGATES = 64;

	private final Map<Object, Client> clients = new ConcurrentHashMap<>();

	/** How many of the clients there are, by level. */
	private final List<AtomicInteger> counts = Stream.generate(AtomicInteger::new).limit(LEVELS).toList();

	private final int maxClients;

	private final int ipv4Length;

	private final int ipv6Length;

	private final LongSupplier nanoTime;

	private final Client otherIpv4;

	private final Client otherIpv6;

	private final ReentrantLock looking = new ReentrantLock();

	/** Guarded by {@link #looking}. */
	private Iterator<Client> next = this.clients.values().iterator();

	/**
	 * The key of the application, which never equals a prefix. Comparable for the same
	 * reason as a prefix.
	 */
	private record OwnKey(Object key) implements Comparable<OwnKey> {

		@Override
		public int compareTo(OwnKey other) {
			return toString().compareTo(other.toString());
		}

		@Override
		public String toString() {
			return this.key.toString();
		}

	}

	ClientTable(int maxClients, int ipv4Length, int ipv6Length, LongSupplier nanoTime) {
		this.maxClients = maxClients;
		this.ipv4Length = ipv4Length;
		this.ipv6Length = ipv6Length;
		this.nanoTime = nanoTime;
		this.otherIpv4 = other("other IPv4 clients", WIDER_IPV4, nanoTime);
		this.otherIpv6 = other("other IPv6 clients", WIDER_IPV6, nanoTime);
	}

	private static Client other(String name, int[] wider, LongSupplier nanoTime) {
		int level = wider.length + 1;
		return new Client(name, level, share(level), nanoTime);
	}

	private static long share(int level) {
		return Math.round(Math.pow(SHARE, level));
	}

	/**
	 * Finds or creates the client of an address, or the clients that it is counted with.
	 * @return a client, which must be {@linkplain #release released}
	 */
	Client acquire(InetAddress address) {
		boolean ipv4 = address instanceof Inet4Address;
		int length = ipv4 ? this.ipv4Length : this.ipv6Length;
		Client client = acquire(ClientPrefix.of(address, length), 0);
		int level = 0;
		for (int wider : ipv4 ? WIDER_IPV4 : WIDER_IPV6) {
			level++;
			if (client == null && wider < length) {
				client = acquire(ClientPrefix.of(address, wider), level);
			}
		}
		return (client != null) ? client : ipv4 ? this.otherIpv4 : this.otherIpv6;
	}

	/**
	 * Finds or creates the client of a key.
	 * @return a client, which must be {@linkplain #release released}, or {@code null} if
	 * the table is full
	 */
	@Nullable Client acquireKey(Object key) {
		return acquire(new OwnKey(key), 0);
	}

	/**
	 * Finds or creates the client of an address, for a moment. If the table forgets it
	 * meanwhile, what the caller counts is lost, which is at most one datagram.
	 */
	Client find(InetAddress address) {
		int length = (address instanceof Inet4Address) ? this.ipv4Length : this.ipv6Length;
		Client known = this.clients.get(ClientPrefix.of(address, length));
		if (known != null) {
			return known;
		}
		Client client = acquire(address);
		release(client);
		return client;
	}

	/** Like {@link #find}, by a key; {@code null} if the table is full. */
	@Nullable Client findKey(Object key) {
		Client client = acquireKey(key);
		if (client != null) {
			release(client);
		}
		return client;
	}

	private @Nullable Client acquire(Object key, int level) {
		Client known = this.clients.computeIfPresent(key, (same, client) -> client.retain());
		return (known != null) ? known : add(key, level);
	}

	private @Nullable Client add(Object key, int level) {
		forget(isFull(level) ? LOOKS_WHEN_FULL : LOOKS);
		@Nullable Client[] created = new Client[1];
		boolean isDone = false;
		try {
			Client client = this.clients.compute(key, (same, known) -> {
				if (known != null) {
					// Another thread has added it meanwhile.
					return known.retain();
				}
				created[0] = create(key, level);
				return created[0];
			});
			isDone = true;
			return client;
		}
		finally {
			if (!isDone) {
				undo(created[0]);
			}
		}
	}

	private @Nullable Client create(Object key, int level) {
		AtomicInteger count = this.counts.get(level);
		boolean isCreated = false;
		try {
			if (count.incrementAndGet() > limit(level)) {
				return null;
			}
			Client client = new Client(key, level, share(level), this.nanoTime).retain();
			isCreated = true;
			return client;
		}
		finally {
			if (!isCreated) {
				count.decrementAndGet();
			}
		}
	}

	/** A map may fail before or after it has added the client, if memory is short. */
	private void undo(@Nullable Client created) {
		if (created == null) {
			return;
		}
		if (this.clients.get(created.key()) == created) {
			release(created);
		}
		else {
			this.counts.get(created.level()).decrementAndGet();
		}
	}

	private boolean isFull(int level) {
		return this.counts.get(level).get() >= limit(level);
	}

	private int limit(int level) {
		return (level == 0) ? this.maxClients : Math.max(FEWEST_AGGREGATES, this.maxClients / SHARE);
	}

	/** Ends the use of a client. */
	void release(Client client) {
		this.clients.computeIfPresent(client.key(), (key, known) -> {
			if (known == client) {
				known.letGo();
			}
			return known;
		});
	}

	/** Looks at some clients, and forgets those that are as good as new. */
	private void forget(int looks) {
		if (!this.looking.tryLock()) {
			return;
		}
		try {
			for (int i = 0; i < looks; i++) {
				if (!this.next.hasNext()) {
					this.next = this.clients.values().iterator();
					if (!this.next.hasNext()) {
						return;
					}
				}
				Client candidate = this.next.next();
				if (candidate.isForgettable()) {
					this.clients.computeIfPresent(candidate.key(), (key, known) -> {
						if (known != candidate || !known.isForgettable()) {
							return known;
						}
						this.counts.get(known.level()).decrementAndGet();
						return null;
					});
				}
			}
		}
		finally {
			this.looking.unlock();
		}
	}

	/** How many clients have an entry of their own. */
	int clients() {
		return this.counts.get(0).get();
	}

	/** How many entries are for several clients. */
	int aggregates() {
		return this.counts.stream().skip(1).mapToInt(AtomicInteger::get).sum();
	}

}
