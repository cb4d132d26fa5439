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

	private final HandshakeGate gate;

	private final LongAdder completed = new LongAdder();

	private final LongAdder failed = new LongAdder();

	/** The number of open connections, by the generation of their configuration. */
	private final Map<Integer, Integer> connections;

	private ServerTls current;

	private int generation = 1;

	TlsGenerations(ServerTls first, MemoryBudget budget, HandshakeGate gate) {
		this(first, budget, gate, new TreeMap<>());
	}

	/** For tests: counts the connections in a map that may fail. */
	TlsGenerations(ServerTls first, MemoryBudget budget, HandshakeGate gate, Map<Integer, Integer> connections) {
		this.connections = connections;
		this.current = first;
		this.gate = gate;
		this.budget = budget;
	}

	void replace(ServerTls next) {
		synchronized (this) {
			this.current = next;
			this.generation++;
		}
		this.gate.limits(next);
	}

	/** Decides whether handshakes may begin. */
	HandshakeGate gate() {
		return this.gate;
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
		try {
			this.gate.begin(transport);
		}
		catch (Error ex) {
			// Usually memory is short. The caller has no transport to close.
			closed(transport);
			throw ex;
		}
		return transport;
	}

	void established(TlsTransport transport) {
		this.completed.increment();
		this.gate.end(transport);
	}

	void closed(TlsTransport transport) {
		try {
			synchronized (this) {
				this.connections.computeIfPresent(transport.generation(),
						(number, count) -> (count > 1) ? count - 1 : null);
			}
		}
		finally {
			// Also if memory is too short to count: the handshake would take a place for
			// ever.
			this.gate.end(transport);
		}
	}

	void failed() {
		this.failed.increment();
	}

	synchronized ServerSnapshot.Tls snapshot() {
		return new ServerSnapshot.Tls(this.generation, Map.copyOf(this.connections), this.completed.sum(),
				this.failed.sum(), this.gate.underWay(), this.gate.limitReached(), this.gate.maxHandshakes());
	}

}
