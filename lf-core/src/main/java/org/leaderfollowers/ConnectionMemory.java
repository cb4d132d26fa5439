package org.leaderfollowers;

import java.util.function.Supplier;
import java.util.stream.Stream;

import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.MemoryHolder;
import org.leaderfollowers.internal.buffer.PartialMessage;
import org.leaderfollowers.internal.transport.Transport;

/**
 * The memory of a connection, as its budget sees it. Read by any thread while the owner
 * works, so the figures are those of a moment ago.
 *
 * @param connection the connection
 * @param served whether the budget is that of the pool that serves the connection, which
 * everything is charged to except the memory of its transport
 * @param opened whether the budget is that of the pool that the connection has begun in,
 * which the memory of its transport is charged to
 */
record ConnectionMemory(TcpConnection connection, boolean served, boolean opened) implements MemoryHolder {

	/**
	 * The connections of a server that hold memory of one pool.
	 *
	 * @param registry the connections of the server
	 * @param budget the budget of the pool
	 * @param first the budget of the pool that the connections begin in
	 */
	record All(ConnectionRegistry registry, MemoryBudget budget,
			MemoryBudget first) implements Supplier<Stream<ConnectionMemory>> {

		/** The connections that begin in the pool. */
		All(ConnectionRegistry registry, MemoryBudget budget) {
			this(registry, budget, budget);
		}

		@Override
		public Stream<ConnectionMemory> get() {
			boolean opened = this.first == this.budget;
			return this.registry.all()
				.stream()
				.map((connection) -> new ConnectionMemory(connection, connection.context.memory() == this.budget,
						opened))
				.filter((memory) -> memory.served || memory.opened);
		}

	}

	@Override
	public long heldBytes() {
		Transport transport = this.connection.transport;
		long ofTransport = this.opened ? transport.heldBytes() + transport.bufferedBytes() : 0;
		return this.served ? ofTransport + ofMessages() : ofTransport;
	}

	private long ofMessages() {
		PartialMessage part = this.connection.partial;
		Exchanges exchanges = this.connection.exchanges;
		return ((part != null) ? part.capacity() : 0) + this.connection.pendingBytes()
				+ ((exchanges != null) ? exchanges.postponedBytes() : 0)
				+ ((this.connection instanceof WindowedConnection windowed) ? windowed.copiedBytes() : 0);
	}

	@Override
	public long heldSinceNanos() {
		if (!this.connection.opened) {
			return this.connection.acceptedNanos;
		}
		PartialMessage part = this.connection.partial;
		Transport transport = this.connection.transport;
		long now = this.connection.nanoTime();
		long since = earlier(this.connection.outbound.progressNanos(now), transport.partSinceNanos(now));
		since = (part != null) ? earlier(since, part.startedNanos()) : since;
		since = (transport.heldBytes() > 0) ? earlier(since, transport.heldSinceNanos()) : since;
		// Nobody notes since when messages and replies wait for others.
		return (since != now) ? since : this.connection.lastActivity();
	}

	private static long earlier(long one, long other) {
		return (other - one < 0) ? other : one;
	}

	@Override
	public boolean isClosing() {
		return !this.connection.isOpen();
	}

	@Override
	public void shed() {
		this.connection.requestCloseAndLook(CloseReason.OVERLOADED, null);
	}

}
