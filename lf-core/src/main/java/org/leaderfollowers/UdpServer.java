package org.leaderfollowers;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * A server for datagrams, which are served by a {@link LeaderFollowersPool}.
 *
 * <pre>
 * UdpServer server = UdpServer.builder(pool).port(7071)
 *     .handler((datagram, message) -&gt; datagram.send(message)).build();
 * server.start();
 * </pre>
 *
 * Each datagram is a message: {@link MessageHandler#onMessage} is called with its
 * payload, which may be empty, and with a {@link Connection} that stands for this one
 * datagram and its sender. There are no connections beyond that:
 * <ul>
 * <li>datagrams are handled in parallel and in no particular order, including those of
 * one sender;</li>
 * <li>{@link MessageHandler#onOpen}, {@link MessageHandler#onClose},
 * {@link MessageHandler#onWritable}, {@link MessageHandler#onIdle} and
 * {@link MessageHandler#onDrain} are not called. If {@code onMessage} fails,
 * {@link MessageHandler#onError} is called; it may send a last reply;</li>
 * <li>{@link Connection#send} sends a datagram to the sender, during the call or later,
 * by any thread, while the server is open. It never waits: if the system has no room for
 * a datagram, or its sender gets too many replies, it is dropped and counted. If a reply
 * exceeds the maximum reply ratio, it throws a {@link ReplyRatioException};</li>
 * <li>{@link Connection#attributes} belong to this datagram only;</li>
 * <li>{@link Connection#suspend} announces a later reply. Until the suspension has ended
 * or timed out, the datagram counts as being handled, and a drain waits for it. Other
 * datagrams are not held up;</li>
 * <li>after {@link Connection#close}, no further reply to this datagram can be sent; it
 * has no other effect. {@link Connection#pendingBytes} is 0, and
 * {@link Connection#isWritable} is the same as {@link Connection#isOpen}.</li>
 * </ul>
 * Several servers may share a pool. A server is started once and closed once; any thread
 * may call all methods.
 */
public final class UdpServer implements Server {

	final UdpLifecycle life;

	private UdpServer(UdpLifecycle life) {
		this.life = life;
	}

	/**
	 * Creates a builder of a server.
	 * @param pool the pool whose threads serve the datagrams
	 * @return a builder with defaults
	 */
	public static Builder builder(LeaderFollowersPool pool) {
		return new Builder(pool);
	}

	@Override
	public void start() {
		this.life.start();
	}

	@Override
	public void pause() {
		this.life.pause();
	}

	@Override
	public void resume() {
		this.life.resume();
	}

	@Override
	public boolean isPaused() {
		return this.life.state().isPaused();
	}

	@Override
	public void close() {
		this.life.close();
	}

	@Override
	public boolean close(Duration grace) {
		return this.life.close(grace);
	}

	/**
	 * Reads the datagrams that the system has received until now, and no others. Waits
	 * until all of them have been handled and no suspension is left, and then closes the
	 * port. If the server is paused, the datagrams that the system has received are lost.
	 * If a handler calls this method, the drain does not wait for this handler.
	 * @param grace how long to wait; if the handlers take longer, the port stays open for
	 * the replies
	 * @return whether everything was handled
	 */
	@Override
	public boolean drain(Duration grace) {
		return this.life.drain(grace);
	}

	@Override
	public boolean awaitDrained(Duration timeout) {
		return this.life.awaitDrained(timeout);
	}

	@Override
	public String name() {
		return this.life.name();
	}

	@Override
	public LeaderFollowersPool pool() {
		return this.life.pool();
	}

	@Override
	public int port() {
		return this.life.port();
	}

	@Override
	public InetSocketAddress address() {
		return this.life.address();
	}

	@Override
	public ServerSnapshot snapshot() {
		return this.life.snapshot();
	}

	/** For tests: the receiver. */
	@Nullable DatagramChannel channel() {
		DatagramReceiver receiver = this.life.socket();
		return (receiver != null) ? receiver.channel() : null;
	}

	@Override
	public String toString() {
		return "UdpServer '" + name() + "' at " + address();
	}

	/**
	 * Builds a server.
	 */
	public static final class Builder {

		/** The size of the read buffer, which is more than any datagram can hold. */
		private static final int LARGEST_MESSAGE = Participant.BUFFER_SIZE;

		private static final int LARGEST_BUFFER = 1 << 30;

		private final LeaderFollowersPool pool;

		private String name = "default";

		private @Nullable InetAddress address;

		private int port = 7070;

		private @Nullable MessageHandler handler;

		private @Nullable String handlerName;

		private int maxMessageSize = LARGEST_MESSAGE;

		private int maxInFlight = 1024;

		private int maxReplyRatio = 3;

		private int maxReplyRate = 1000;

		private Duration suspensionTimeout = Duration.ofSeconds(30);

		private int receiveBufferSize;

		private int sendBufferSize;

		private DatagramTransfer transfer = DatagramTransfer.SYSTEM;

		private Builder(LeaderFollowersPool pool) {
			this.pool = Objects.requireNonNull(pool, "'pool' must not be null");
		}

		/** For tests: receives and sends datagrams. */
		Builder transfer(DatagramTransfer transfer) {
			this.transfer = transfer;
			return this;
		}

		/**
		 * The name of the server.
		 * @param name not empty; the default is {@code default}
		 * @return this builder
		 */
		public Builder name(String name) {
			this.name = Arguments.notBlank("name", name);
			return this;
		}

		/**
		 * The address to bind. On a machine with several addresses, a server that is
		 * bound to all of them does not know the address that a datagram was sent to, and
		 * its replies may have another source address. In this case, bind one server to
		 * each address that clients use.
		 * @param address an address of this machine; the default is all of them
		 * @return this builder
		 */
		public Builder address(InetAddress address) {
			this.address = address;
			return this;
		}

		/**
		 * The port to bind.
		 * @param port from 0 to 65535, where 0 is any free port; the default is 7070
		 * @return this builder
		 */
		public Builder port(int port) {
			this.port = Arguments.inRange("port", port, 0, 65535);
			return this;
		}

		/**
		 * The handler of datagrams. Required.
		 * @param handler called by several threads at the same time
		 * @return this builder
		 */
		public Builder handler(MessageHandler handler) {
			this.handler = handler;
			return this;
		}

		/**
		 * The name of the handler in the log and in snapshots.
		 * @param handlerName the default is the name of its class
		 * @return this builder
		 */
		public Builder handlerName(String handlerName) {
			this.handlerName = handlerName;
			return this;
		}

		/**
		 * The largest datagram that is handled. A larger one is dropped and counted as
		 * truncated; no part of it reaches the handler.
		 * @param maxMessageSize bytes of payload, from 1 to 64 KiB; the default is 64
		 * KiB, which is more than a datagram can hold
		 * @return this builder
		 */
		public Builder maxMessageSize(int maxMessageSize) {
			this.maxMessageSize = Arguments.inRange("maxMessageSize", maxMessageSize, 1, LARGEST_MESSAGE);
			return this;
		}

		/**
		 * The maximum number of datagrams that are handled or
		 * {@linkplain Connection#suspend suspended} at the same time. When this number is
		 * reached, the server stops reading: the system fills its receive buffer and
		 * drops further datagrams, which only the system can report.
		 * <p>
		 * If the pool serves anything else, handlers of datagrams also leave it a quarter
		 * of the threads, whatever this maximum is; several servers of datagrams divide
		 * the rest.
		 * @param maxInFlight at least 1; the default is 1024
		 * @return this builder
		 */
		public Builder maxInFlight(int maxInFlight) {
			this.maxInFlight = Arguments.inRange("maxInFlight", maxInFlight, 1, Integer.MAX_VALUE);
			return this;
		}

		/**
		 * The maximum ratio of the size of all replies to a datagram to the size of this
		 * datagram. The sender's address may be forged: without this limit, an attacker
		 * could send little and make the server send much to a victim. Headers of 28
		 * bytes are counted for the datagram and for each reply, so an empty datagram can
		 * be answered, too. Replies beyond the limit are rejected with a
		 * {@link ReplyRatioException}.
		 * @param maxReplyRatio from 0, for no replies at all, to 10000; the default is 3,
		 * as in QUIC for peers whose address is not verified
		 * @return this builder
		 */
		public Builder maxReplyRatio(int maxReplyRatio) {
			this.maxReplyRatio = Arguments.inRange("maxReplyRatio", maxReplyRatio, 0, 10_000);
			return this;
		}

		/**
		 * The maximum number of replies that are sent to one address and port in a
		 * second, on average over 10 seconds. Further replies are dropped and counted;
		 * {@link Connection#send} does not fail. The sender's address may be forged:
		 * without this limit, an attacker could make two servers answer each other
		 * without end. The memory for it is fixed, so a few addresses may have to share a
		 * limit.
		 * @param maxReplyRate from 1 to 1000000, or 0 for no limit; the default is 1000
		 * @return this builder
		 */
		public Builder maxReplyRate(int maxReplyRate) {
			this.maxReplyRate = Arguments.inRange("maxReplyRate", maxReplyRate, 0, 1_000_000);
			return this;
		}

		/**
		 * How long a datagram may be suspended. Afterwards it no longer counts as being
		 * handled, and cannot be replied to.
		 * @param suspensionTimeout the timeout, 0 for none; the default is 30 seconds
		 * @return this builder
		 */
		public Builder suspensionTimeout(Duration suspensionTimeout) {
			this.suspensionTimeout = Arguments.notNegative("suspensionTimeout", suspensionTimeout);
			return this;
		}

		/**
		 * The size of the system's buffer for datagrams that were received and not read
		 * yet. It holds datagrams that arrive while all threads are busy; when it is
		 * full, the system drops datagrams.
		 * @param receiveBufferSize bytes, from 1024 to 1 GiB; by default the system
		 * decides. If the system grants less, a line is logged
		 * @return this builder
		 */
		public Builder receiveBufferSize(int receiveBufferSize) {
			this.receiveBufferSize = Arguments.inRange("receiveBufferSize", receiveBufferSize, 1024, LARGEST_BUFFER);
			return this;
		}

		/**
		 * The size of the system's buffer for datagrams to be sent.
		 * @param sendBufferSize bytes, from 1024 to 1 GiB; by default the system decides.
		 * If the system grants less, a line is logged
		 * @return this builder
		 */
		public Builder sendBufferSize(int sendBufferSize) {
			this.sendBufferSize = Arguments.inRange("sendBufferSize", sendBufferSize, 1024, LARGEST_BUFFER);
			return this;
		}

		/**
		 * Builds the server. It is not bound until it is {@linkplain UdpServer#start()
		 * started}.
		 * @return a new server
		 * @throws IllegalStateException if the handler is missing
		 */
		public UdpServer build() {
			if (this.handler == null) {
				throw new IllegalStateException(
						"Server '%s' needs a handler: call handler(...) before build()".formatted(this.name));
			}
			InetSocketAddress requested = (this.address != null) ? new InetSocketAddress(this.address, this.port)
					: new InetSocketAddress(this.port);
			String shownName = (this.handlerName != null) ? this.handlerName : this.handler.getClass().getName();
			UdpOptions options = new UdpOptions(this.maxMessageSize, this.maxInFlight, this.maxReplyRatio,
					this.maxReplyRate, Arguments.nanos(this.suspensionTimeout), this.receiveBufferSize,
					this.sendBufferSize, this.transfer);
			return new UdpServer(new UdpLifecycle(this.pool, this.name, requested, this.handler, shownName, options));
		}

	}

}
