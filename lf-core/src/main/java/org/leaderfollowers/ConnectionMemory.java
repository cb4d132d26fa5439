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
 */
record ConnectionMemory(TcpConnection connection) implements MemoryHolder {

	/**
	 * The connections of a server that hold memory of one pool.
	 *
	 * @param registry the connections of the server
	 * @param budget the budget of the pool
	 */
	record All(ConnectionRegistry registry, MemoryBudget budget) implements Supplier<Stream<ConnectionMemory>> {

		@Override
		public Stream<ConnectionMemory> get() {
			return this.registry.all()
				.stream()
				.filter((connection) -> connection.context.memory() == this.budget)
				.map(ConnectionMemory::new);
		}

	}

	@Override
	public long heldBytes() {
		PartialMessage part = this.connection.partial;
		Exchanges exchanges = this.connection.exchanges;
		Transport transport = this.connection.transport;
		return ((part != null) ? part.capacity() : 0) + this.connection.pendingBytes()
				+ ((exchanges != null) ? exchanges.postponedBytes() : 0)
				+ ((this.connection instanceof WindowedConnection windowed) ? windowed.copiedBytes() : 0)
				+ transport.heldBytes() + transport.bufferedBytes();
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
