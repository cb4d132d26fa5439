package org.leaderfollowers;

import java.nio.channels.SocketChannel;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.RecordBuffers;
import org.leaderfollowers.internal.transport.TlsTransport;

/**
 * The TLS configuration of a server. It can be replaced while the server runs, but each
 * connection keeps the configuration of the time when it was accepted. Any thread.
 */
final class TlsGenerations {

	private final RecordBuffers buffers = new RecordBuffers();

	private final MemoryBudget budget;

	private final LongAdder completed = new LongAdder();

	private final LongAdder failed = new LongAdder();

	/** The number of open connections, by the generation of their configuration. */
	private final Map<Integer, Integer> connections = new TreeMap<>();

	private ServerTls current;

	private int generation = 1;

	TlsGenerations(ServerTls first, MemoryBudget budget) {
		this.current = first;
		this.budget = budget;
	}

	synchronized void replace(ServerTls next) {
		this.current = next;
		this.generation++;
	}

	/**
	 * Creates the transport of a new connection, which is counted until {@link #closed}.
	 */
	TlsTransport open(SocketChannel socket) {
		ServerTls tls;
		int number;
		synchronized (this) {
			tls = this.current;
			number = this.generation;
		}
		TlsTransport transport = new TlsTransport(socket, tls.newEngine(), this.buffers, this.budget, number);
		synchronized (this) {
			this.connections.merge(number, 1, Integer::sum);
		}
		return transport;
	}

	void established() {
		this.completed.increment();
	}

	synchronized void closed(TlsTransport transport) {
		this.connections.computeIfPresent(transport.generation(), (number, count) -> (count > 1) ? count - 1 : null);
	}

	void failed() {
		this.failed.increment();
	}

	synchronized ServerSnapshot.Tls snapshot() {
		return new ServerSnapshot.Tls(this.generation, Map.copyOf(this.connections), this.completed.sum(),
				this.failed.sum());
	}

}
