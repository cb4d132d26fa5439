package org.leaderfollowers.benchmarks.load;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import com.sun.management.OperatingSystemMXBean;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Puts a {@link Load} on a server. It shares the machine with the server, so it is made
 * to be cheap: one thread waits for replies with a selector, and in a closed loop sends
 * the next request as soon as a reply is whole. An open loop has a second thread, the
 * {@link Pacer}, since a selector can only sleep for whole milliseconds. Nothing is
 * allocated once the connections are there.
 */
final class LoadGenerator implements AutoCloseable {

	/** Requests that could not be sent within this time after the end are given up. */
	private static final long UNSENT_GRACE_NS = TimeUnit.SECONDS.toNanos(1);

	private static final long RELEASE_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);

	private static final long RELEASE_POLL_NS = TimeUnit.MILLISECONDS.toNanos(2);

	private static final int BUFFER_SIZE = 256 * 1024;

	private static final OperatingSystemMXBean SYSTEM = ManagementFactory
		.getPlatformMXBean(OperatingSystemMXBean.class);

	private final Load load;

	private final Selector selector;

	private final Consumer<SelectionKey> dispatch = this::dispatch;

	private final List<LoadConnection> connections = new ArrayList<>();

	private final Requests requests;

	private final ByteBuffer in = ByteBuffer.allocateDirect(BUFFER_SIZE);

	private final Period period = new Period();

	private final @Nullable Schedule schedule;

	private final Sender sender;

	private final Histogram latencyNs = LoadResult.histogram();

	/** How many connections are not closed. */
	private int open;

	/** Connections before this one have all the replies that are waited for. */
	private int complete;

	private boolean measuring;

	private long measured;

	private double measuredSeconds;

	private double measuredCpuSeconds;

	private long total;

	private long errors;

	private long unsent;

	private LoadGenerator(Load load) throws IOException {
		this.load = load;
		this.requests = new Requests(load.payload());
		this.selector = Selector.open();
		connect();
		this.schedule = load.open() ? new Schedule(System.nanoTime(), load.rate(), load.connections()) : null;
		this.sender = new Sender(load, this.schedule, this.period);
	}

	/**
	 * Put a load on a server.
	 * @param load the load
	 * @param listener who is told about the measured period
	 * @return the result
	 * @throws IOException if the server does not accept the connections
	 */
	static LoadResult run(Load load, LoadListener listener) throws IOException {
		try (LoadGenerator generator = new LoadGenerator(load)) {
			return generator.run(listener);
		}
	}

	private void connect() throws IOException {
		InetSocketAddress address = new InetSocketAddress(this.load.host(), this.load.port());
		try {
			while (this.open < this.load.connections()) {
				// One by one: a burst of 10,000 would overflow the server's backlog
				SocketChannel channel = Connecting.to(address);
				channel.configureBlocking(false);
				channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
				SelectionKey key = channel.register(this.selector, SelectionKey.OP_READ);
				LoadConnection connection = new LoadConnection(this.open++, channel, key, this.load.pipeline());
				key.attach(connection);
				this.connections.add(connection);
			}
		}
		catch (IOException ex) {
			close();
			throw ex;
		}
	}

	private LoadResult run(LoadListener listener) throws IOException {
		Histogram latenessNs = this.sender.latenessNs();
		if (this.schedule == null) {
			this.connections.forEach(this::send);
			setPeriod();
			receive(listener);
		}
		else {
			Sender paced = new Sender(this.load, this.schedule, this.period);
			setPeriod();
			Pacer pacer = new Pacer(this.connections, this.schedule, this.period, paced);
			pacer.start();
			receive(listener);
			pacer.end();
			latenessNs.add(paced.latenessNs());
		}
		return new LoadResult(this.measured, this.errors, this.unsent, this.total, this.measuredSeconds,
				this.measuredCpuSeconds, this.latencyNs, latenessNs);
	}

	private void setPeriod() {
		long startNs = System.nanoTime() + nanos(this.load.warmup());
		this.period.set(startNs, startNs + nanos(this.load.seconds()));
	}

	/**
	 * Runs the phases: warm-up, the measured period, the same load until the listener
	 * allows the end, and the outstanding replies.
	 */
	private void receive(LoadListener listener) throws IOException {
		receiveUntil(this.period.startNs());
		long startNs = System.nanoTime();
		long startCpuNs = SYSTEM.getProcessCpuTime();
		this.measuring = true;
		listener.started();
		receiveUntil(this.period.endNs());
		listener.ended();
		this.measuring = false;
		this.measuredSeconds = seconds(System.nanoTime() - startNs);
		this.measuredCpuSeconds = seconds(SYSTEM.getProcessCpuTime() - startCpuNs);
		receiveUntilReleased(listener);
		if (this.schedule != null) {
			receiveAll(this.period.endNs() + UNSENT_GRACE_NS);
			countUnsent(this.schedule);
		}
		this.period.stop();
		this.complete = 0;
		receiveAll(System.nanoTime() + nanos(this.load.timeout()));
		countMissing();
	}

	/** The listener looks at the server while it is at work and has all connections. */
	private void receiveUntilReleased(LoadListener listener) throws IOException {
		long untilNs = System.nanoTime() + RELEASE_TIMEOUT_NS;
		while (!listener.released() && System.nanoTime() < untilNs && this.open > 0) {
			select(RELEASE_POLL_NS);
		}
	}

	private void receiveUntil(long untilNs) throws IOException {
		long leftNs = untilNs - System.nanoTime();
		while (leftNs > 0 && this.open > 0) {
			select(leftNs);
			leftNs = untilNs - System.nanoTime();
		}
	}

	private void receiveAll(long untilNs) throws IOException {
		long leftNs = untilNs - System.nanoTime();
		while (leftNs > 0 && !complete()) {
			select(leftNs);
			leftNs = untilNs - System.nanoTime();
		}
	}

	private void select(long timeoutNs) throws IOException {
		this.selector.select(this.dispatch, timeoutNs / TimeUnit.MILLISECONDS.toNanos(1) + 1);
	}

	private boolean complete() {
		for (; this.complete < this.connections.size(); this.complete++) {
			LoadConnection connection = this.connections.get(this.complete);
			synchronized (connection) {
				if (!connection.closed && connection.replied < toReply(connection)) {
					return false;
				}
			}
		}
		return true;
	}

	/** How many replies of a connection are waited for. */
	private long toReply(LoadConnection connection) {
		if (this.schedule == null || this.period.stopped()) {
			return connection.begun;
		}
		// Those that are due later do not count
		return this.schedule.of(connection.id, this.schedule.due(this.period.endNs() - 1));
	}

	private void dispatch(SelectionKey key) {
		LoadConnection connection = (LoadConnection) key.attachment();
		if (key.isWritable()) {
			send(connection);
		}
		if (key.isValid() && key.isReadable()) {
			receive(connection);
		}
	}

	private void receive(LoadConnection connection) {
		if (!read(connection)) {
			fail(connection);
			return;
		}
		long replied = replies(connection);
		if (replied < 0) {
			fail(connection);
		}
		else if (replied > connection.replied) {
			synchronized (connection) {
				connection.replied = replied;
			}
			send(connection);
		}
	}

	private boolean read(LoadConnection connection) {
		this.in.clear();
		try {
			if (connection.channel.read(this.in) < 0) {
				return false;
			}
		}
		catch (IOException ex) {
			return false;
		}
		this.in.flip();
		return true;
	}

	/**
	 * Take the replies out of the buffer.
	 * @param connection the connection of the replies
	 * @return the number of replies that have come by now, or -1 if one is wrong
	 */
	private long replies(LoadConnection connection) {
		long nowNs = System.nanoTime();
		long replied = connection.replied;
		long begun = begun(connection);
		int length = this.requests.length();
		while (this.in.hasRemaining()) {
			int count = Math.min(this.in.remaining(), length - connection.repliedOffset);
			if (replied == begun
					|| !this.requests.matches(this.in, connection.id, replied, connection.repliedOffset, count)) {
				return -1;
			}
			connection.repliedOffset += count;
			if (connection.repliedOffset == length) {
				connection.repliedOffset = 0;
				count(connection, replied++, nowNs);
			}
		}
		return replied;
	}

	private static long begun(LoadConnection connection) {
		synchronized (connection) {
			return connection.begun;
		}
	}

	private void count(LoadConnection connection, long number, long nowNs) {
		this.total++;
		if (this.measuring) {
			this.measured++;
		}
		if (this.schedule != null) {
			long dueNs = this.schedule.dueNs(connection.id, number);
			if (this.period.includes(dueNs)) {
				recordLatency(nowNs - dueNs);
			}
		}
		else if (this.measuring) {
			recordLatency(nowNs - connection.sentNs[(int) (number % this.load.pipeline())]);
		}
	}

	private void recordLatency(long latencyNs) {
		this.latencyNs.recordValue(Math.min(latencyNs, this.latencyNs.getHighestTrackableValue()));
	}

	private void send(LoadConnection connection) {
		try {
			synchronized (connection) {
				if (!connection.closed && !connection.broken) {
					this.sender.send(connection);
				}
			}
		}
		catch (IOException ex) {
			fail(connection);
		}
	}

	/**
	 * A connection that the server closes is an error, even if nothing was under way.
	 */
	private void fail(LoadConnection connection) {
		synchronized (connection) {
			connection.closed = true;
			this.errors += Math.max(1, connection.begun - connection.replied);
		}
		this.open--;
		connection.key.cancel();
		close(connection.channel);
	}

	private void countUnsent(Schedule schedule) {
		long nowNs = System.nanoTime();
		long due = schedule.due(this.period.endNs() - 1);
		for (LoadConnection connection : this.connections) {
			synchronized (connection) {
				for (long number = connection.begun; number < schedule.of(connection.id, due); number++) {
					long dueNs = schedule.dueNs(connection.id, number);
					if (this.period.includes(dueNs)) {
						this.unsent++;
						recordLatency(nowNs - dueNs);
					}
				}
			}
		}
	}

	private void countMissing() {
		for (LoadConnection connection : this.connections) {
			synchronized (connection) {
				if (!connection.closed) {
					this.errors += connection.begun - connection.replied;
				}
			}
		}
	}

	private static long nanos(double seconds) {
		return (long) (seconds * TimeUnit.SECONDS.toNanos(1));
	}

	private static double seconds(long nanos) {
		return nanos / (double) TimeUnit.SECONDS.toNanos(1);
	}

	@Override
	public void close() throws IOException {
		this.connections.forEach((connection) -> close(connection.channel));
		this.selector.close();
	}

	private static void close(SocketChannel channel) {
		try {
			channel.close();
		}
		catch (IOException ex) {
			// The connection cannot be used any more
		}
	}

}
