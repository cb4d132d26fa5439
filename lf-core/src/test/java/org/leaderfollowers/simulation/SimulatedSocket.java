package org.leaderfollowers.simulation;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;

/** One end of a connection. A peer uses it directly, the engine through a channel. */
public final class SimulatedSocket {

	private final SimulatedNetwork network;

	private final Simulator simulator;

	private final int port;

	/** How many bytes may be under way to this end, or received and not read. */
	private final int capacity;

	/** The bytes that have arrived. */
	private final ByteArrayOutputStream arrived = new ByteArrayOutputStream();

	private int read;

	/** The number of bytes that were sent to this end and not read. */
	private int outstanding;

	/** When the latest segment to this end arrives: segments do not overtake. */
	private long latestNanos;

	/** How many bytes were read by this end. */
	private long readInAll;

	/** How many bytes had arrived when this end asked, or -1. */
	private long arrivedWhenAsked = -1;

	private @Nullable SimulatedSocket other;

	private boolean connected;

	private boolean refused;

	private boolean endArrived;

	private boolean endSent;

	private boolean reset;

	private boolean closed;

	private @Nullable Runnable onChange;

	/** Creates an end that is not connected. */
	public SimulatedSocket(SimulatedNetwork network, int port) {
		this.network = network;
		this.simulator = network.simulator();
		this.port = port;
		this.capacity = 1 << (6 + this.simulator.choose(8));
	}

	/** Executes an action whenever something has arrived. */
	public void onChange(Runnable action) {
		this.onChange = action;
	}

	static void connect(SimulatedSocket one, SimulatedSocket two) {
		one.other = two;
		two.other = one;
		one.connected = true;
		two.connected = true;
		one.changed();
	}

	void refused() {
		this.refused = true;
		changed();
	}

	private void changed() {
		if (this.onChange != null && !this.closed) {
			this.onChange.run();
		}
	}

	/** Returns the size of the buffer. */
	int capacity() {
		return this.capacity;
	}

	/** Returns the own port. */
	public int port() {
		return this.port;
	}

	int otherPort() {
		return (this.other != null) ? this.other.port : 0;
	}

	/** Whether it was connected. */
	public boolean isConnected() {
		return this.connected;
	}

	/** Whether the connection was refused. */
	public boolean isRefused() {
		return this.refused;
	}

	/** Whether the other end has reset the connection. */
	public boolean isReset() {
		return this.reset;
	}

	/** Whether the end of the input has arrived and nothing is left to read. */
	public boolean isAtEnd() {
		return this.endArrived && available() == 0;
	}

	boolean isClosed() {
		return this.closed;
	}

	boolean finishConnect() throws IOException {
		if (this.refused) {
			throw new ConnectException("Connection refused (simulated)");
		}
		return this.connected;
	}

	/** Returns the number of bytes that can be read. */
	public int available() {
		return this.arrived.size() - this.read;
	}

	/** Returns the number of bytes that can be read, as the engine asks for it. */
	int ask() {
		this.arrivedWhenAsked = this.readInAll + available();
		return available();
	}

	/** Returns how many bytes had arrived at the other end when it asked, or -1. */
	long arrivedAtOtherWhenAsked() {
		return (this.other != null) ? this.other.arrivedWhenAsked : -1;
	}

	boolean isReadable() {
		return available() > 0 || this.endArrived || this.reset;
	}

	boolean isWritable() {
		return this.connected && (this.reset || this.other == null || space() > 0);
	}

	/** Returns how many bytes the other end takes. */
	public int space() {
		return (this.other != null) ? this.other.capacity - this.other.outstanding : 0;
	}

	/**
	 * Reads bytes.
	 * @return how many, or -1 at the end
	 */
	public int read(ByteBuffer target) throws IOException {
		if (this.reset) {
			throw failure("Connection reset (simulated)");
		}
		int available = Math.min(available(), target.remaining());
		if (available == 0) {
			return (this.endArrived && target.hasRemaining()) ? -1 : 0;
		}
		int count = (!this.network.readsAll() && this.simulator.choose(3) == 0) ? 1 + this.simulator.choose(available)
				: available;
		target.put(this.arrived.toByteArray(), this.read, count);
		this.read += count;
		this.readInAll += count;
		this.outstanding -= count;
		if (available() == 0) {
			this.arrived.reset();
			this.read = 0;
		}
		notifyOther();
		return count;
	}

	private IOException failure(String message) {
		this.simulator.note(this + ": " + message);
		return new IOException(message);
	}

	private void notifyOther() {
		SimulatedSocket writer = this.other;
		if (writer != null && writer.onChange != null) {
			this.simulator.at(this.simulator.nanoTime() + this.network.delay(), "space for " + writer.port,
					writer::changed);
		}
	}

	/**
	 * Writes bytes.
	 * @return how many
	 */
	public int write(ByteBuffer source) throws IOException {
		SimulatedSocket receiver = this.other;
		if (this.reset || this.endSent || receiver == null) {
			throw failure("Broken pipe (simulated)");
		}
		int most = Math.min(space(), source.remaining());
		if (most <= 0) {
			return 0;
		}
		int count = (this.simulator.choose(4) == 0) ? 1 + this.simulator.choose(most) : most;
		byte[] bytes = new byte[count];
		source.get(bytes);
		receiver.outstanding += count;
		// The network delivers the bytes in segments of its own.
		int cut = (this.simulator.choose(3) == 0) ? this.simulator.choose(count) : 0;
		if (cut > 0) {
			receiver.deliver(count + " bytes", () -> receiver.arrived(bytes, 0, cut));
		}
		receiver.deliver(count + " bytes", () -> receiver.arrived(bytes, cut, count - cut));
		return count;
	}

	private void deliver(String what, Runnable arrival) {
		this.latestNanos = Math.max(this.latestNanos, this.simulator.nanoTime() + this.network.delay());
		this.simulator.at(this.latestNanos, what + " for " + this.port, () -> {
			arrival.run();
			changed();
		});
	}

	private void arrived(byte[] bytes, int from, int count) {
		if (this.closed) {
			// Nobody reads any more: the kernel answers with a reset.
			resetOther();
		}
		else if (!this.reset) {
			this.arrived.write(bytes, from, count);
		}
	}

	private void resetOther() {
		SimulatedSocket peer = this.other;
		if (peer != null && !peer.reset && !peer.closed) {
			peer.deliver("reset", () -> peer.reset = true);
		}
	}

	/** Ends the output. */
	public void shutdownOutput() {
		SimulatedSocket receiver = this.other;
		if (!this.endSent && receiver != null) {
			this.endSent = true;
			receiver.deliver("end", () -> receiver.endArrived = true);
		}
	}

	/** Closes this end. Unread input resets the connection, as TCP does. */
	public void close() {
		if (this.closed) {
			return;
		}
		boolean unread = available() > 0;
		this.closed = true;
		if (unread) {
			resetOther();
		}
		else {
			shutdownOutput();
		}
	}

	/** Resets the connection. */
	public void abort() {
		if (!this.closed) {
			this.closed = true;
			resetOther();
		}
	}

	@Override
	public String toString() {
		return "socket %d->%d%s%s, %d bytes available".formatted(this.port, otherPort(), this.closed ? ", closed" : "",
				this.reset ? ", reset" : "", available());
	}

}
