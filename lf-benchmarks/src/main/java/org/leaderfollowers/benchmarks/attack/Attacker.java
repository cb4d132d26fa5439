package org.leaderfollowers.benchmarks.attack;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * One attack on one server, from many addresses of the loopback interface. It holds up to
 * a number of connections, and replaces those that the server closes. One thread visits
 * all connections in turn, without a selector: an attacker need not be prompt.
 */
public final class Attacker implements AutoCloseable {

	/** The first address is 127.0.1.1, and honest clients have none of these. */
	private static final byte[] NETWORK = { 127, 0, 1 };

	/** A network of 256 addresses, without its first and last ones. */
	private static final int MOST_ADDRESSES = 254;

	private static final Duration VISIT_INTERVAL = Duration.ofMillis(50);

	private static final int CONTINUE_EVERY_VISITS = 10;

	private static final int RECEIVE_BUFFER = 4096;

	private final Options options;

	private final Thread thread;

	private final ByteBuffer discarded = ByteBuffer.allocate(1024);

	private volatile boolean stopped;

	private volatile long opened;

	private volatile long closedByServer;

	private int nextAddress;

	/**
	 * How an attacker behaves.
	 *
	 * @param attack what it does on its connections
	 * @param server where it connects
	 * @param wire how messages are separated there
	 * @param connections how many connections it holds at a time
	 * @param perSecond how many connections it opens in a second, at most
	 * @param addresses how many addresses it has, from 1 to 254
	 */
	public record Options(Attack attack, InetSocketAddress server, Wire wire, int connections, int perSecond,
			int addresses) {

		public Options {
			if (addresses < 1 || addresses > MOST_ADDRESSES) {
				throw new IllegalArgumentException("'addresses' must be from 1 to " + MOST_ADDRESSES);
			}
		}

	}

	/**
	 * Begins an attack.
	 * @param options how the attacker behaves
	 */
	public Attacker(Options options) {
		this.options = options;
		this.thread = new Thread(this::run, options.attack().title());
		this.thread.setDaemon(true);
		this.thread.start();
	}

	/**
	 * An address of an attacker.
	 * @param index which one; indices that differ by {@value #MOST_ADDRESSES} share one
	 * @return an address of the loopback interface
	 */
	public static InetAddress address(int index) {
		try {
			return InetAddress
				.getByAddress(new byte[] { NETWORK[0], NETWORK[1], NETWORK[2], (byte) (1 + index % MOST_ADDRESSES) });
		}
		catch (UnknownHostException ex) {
			throw new IllegalStateException("Four bytes are always an address", ex);
		}
	}

	/**
	 * Whether a connection came from such an address.
	 * @param address the address of a client
	 * @return whether it is an attacker's
	 */
	public static boolean isAttacker(InetAddress address) {
		byte[] bytes = address.getAddress();
		return bytes.length == 4 && bytes[0] == NETWORK[0] && bytes[1] == NETWORK[1] && bytes[2] == NETWORK[2];
	}

	/**
	 * How many connections it has opened.
	 * @return a number of connections
	 */
	public long opened() {
		return this.opened;
	}

	/**
	 * How many of them the server has closed.
	 * @return a number of connections
	 */
	public long closedByServer() {
		return this.closedByServer;
	}

	private void run() {
		Queue<Held> held = new ArrayDeque<>();
		int perVisit = Math.max(1, (int) (this.options.perSecond() * VISIT_INTERVAL.toMillis() / 1000));
		try {
			for (long visit = 0; !this.stopped; visit++) {
				for (int i = 0; i < perVisit && held.size() < this.options.connections(); i++) {
					open(held);
				}
				boolean continues = visit % CONTINUE_EVERY_VISITS == 0;
				for (int i = held.size(); i > 0 && !this.stopped; i--) {
					Held next = held.remove();
					if (visit(next, continues)) {
						held.add(next);
					}
				}
				LockSupport.parkNanos(VISIT_INTERVAL.toNanos());
			}
		}
		finally {
			held.forEach((one) -> close(one.channel));
		}
	}

	private void open(Queue<Held> held) {
		SocketChannel channel = null;
		try {
			channel = SocketChannel.open();
			channel.configureBlocking(false);
			if (this.options.attack() == Attack.SLOW_READERS) {
				channel.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER);
			}
			channel.bind(new InetSocketAddress(address(this.nextAddress++ % this.options.addresses()), 0));
			channel.connect(this.options.server());
			held.add(new Held(channel, ByteBuffer.wrap(this.options.attack().opening(this.options.wire()))));
		}
		catch (IOException ex) {
			// Out of ports or descriptors, or the server is gone: the next visit tries
			// again
			close(channel);
		}
	}

	/** Returns whether the connection is still held. */
	private boolean visit(Held one, boolean continues) {
		try {
			if (!one.channel.isConnected()) {
				if (!one.channel.finishConnect()) {
					return true;
				}
				this.opened++;
			}
			if (this.options.attack() == Attack.CONNECTION_FLOOD) {
				if (this.opened % 2 == 0) {
					one.channel.setOption(StandardSocketOptions.SO_LINGER, 0);
				}
				close(one.channel);
				return false;
			}
			if (!one.output.hasRemaining() && continues) {
				this.options.attack()
					.continuation(this.options.wire())
					.ifPresent((bytes) -> one.output = ByteBuffer.wrap(bytes));
			}
			one.channel.write(one.output);
			if (this.options.attack() != Attack.SLOW_READERS && one.channel.read(this.discarded.clear()) < 0) {
				throw new IOException("The server closed the connection");
			}
			return true;
		}
		catch (IOException ex) {
			this.closedByServer++;
			close(one.channel);
			return false;
		}
	}

	private static void close(@Nullable SocketChannel channel) {
		try {
			if (channel != null) {
				channel.close();
			}
		}
		catch (IOException ex) {
			// Its descriptor is free all the same
		}
	}

	/**
	 * Ends the attack and closes its connections.
	 */
	@Override
	public void close() {
		this.stopped = true;
		LockSupport.unpark(this.thread);
		try {
			this.thread.join();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/** A connection, and its bytes that have not been sent. */
	private static final class Held {

		private final SocketChannel channel;

		private ByteBuffer output;

		private Held(SocketChannel channel, ByteBuffer output) {
			this.channel = channel;
			this.output = output;
		}

	}

}
