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
		return ((part != null) ? part.capacity() : 0) + this.connection.outbound.waitingBytes()
				+ this.connection.transport.heldBytes();
	}

	@Override
	public long heldSinceNanos() {
		if (!this.connection.opened) {
			return this.connection.acceptedNanos;
		}
		PartialMessage part = this.connection.partial;
		long now = this.connection.nanoTime();
		long progress = this.connection.outbound.progressNanos(now);
		long since = (part != null && part.startedNanos() - progress < 0) ? part.startedNanos() : progress;
		Transport transport = this.connection.transport;
		boolean longer = transport.heldBytes() > 0 && transport.heldSinceNanos() - since < 0;
		return longer ? transport.heldSinceNanos() : since;
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
