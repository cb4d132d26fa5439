package org.leaderfollowers.spring.test.client;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.handler.ClientProxies;
import org.leaderfollowers.spring.handler.ClientProxies.Exchanger;

import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.util.ClassUtils;
import org.springframework.validation.Validator;
import org.springframework.validation.beanvalidation.OptionalValidatorFactoryBean;

/**
 * A peer for clients, which a test controls. It {@linkplain #listen(Framing) listens} on
 * a socket, or is reached {@linkplain #inMemory() in memory}.
 * <p>
 * A {@linkplain #answer function} answers requests. Otherwise the test takes each request
 * with {@link #next()}, and replies at any time, out of order or never, or closes the
 * connection instead:
 *
 * <pre>
 * try (LfTestPeer peer = LfTestPeer.listen(Framing.line())) {
 *     ...
 *     LfTestPeer.Request first = peer.next();
 *     LfTestPeer.Request second = peer.next();
 *     second.reply("2");
 *     first.close();
 * }
 * </pre>
 *
 * Thread-safe.
 */
public final class LfTestPeer implements AutoCloseable {

	private static final Duration TIMEOUT = Duration.ofSeconds(10);

	private final Charset charset;

	private final @Nullable Listener listener;

	private final InMemoryExchanger exchanger = new InMemoryExchanger(this);

	private final List<Request> received = new CopyOnWriteArrayList<>();

	private final BlockingQueue<Request> unanswered = new LinkedBlockingQueue<>();

	private volatile Function<Request, @Nullable String> answers = (request) -> null;

	private LfTestPeer(Charset charset, @Nullable Framing framing) {
		this.charset = charset;
		this.listener = (framing != null) ? new Listener(framing, this) : null;
	}

	/**
	 * Starts a peer that listens on a free port of this machine.
	 * @param framing separates messages
	 * @return the peer, to be closed by the test
	 */
	public static LfTestPeer listen(Framing framing) {
		return new LfTestPeer(StandardCharsets.UTF_8, framing);
	}

	/**
	 * Creates a peer without sockets and threads, for {@link #implement(Class)
	 * interfaces}.
	 * @return the peer
	 */
	public static LfTestPeer inMemory() {
		return inMemory(StandardCharsets.UTF_8);
	}

	/**
	 * Creates a peer without sockets and threads.
	 * @param charset the charset of text messages
	 * @return the peer
	 */
	public static LfTestPeer inMemory(Charset charset) {
		return new LfTestPeer(charset, null);
	}

	/**
	 * The address that a client connects to.
	 * @return host and port, in the format of the property
	 * {@code lf.clients.<name>.addresses}
	 * @throws IllegalStateException if the peer is in memory
	 */
	public String address() {
		return listener().address();
	}

	private Listener listener() {
		if (this.listener == null) {
			throw new IllegalStateException(
					"The peer is in memory, and so has neither an address nor connections: use 'listen'");
		}
		return this.listener;
	}

	/**
	 * Implements an interface of a client: its requests reach this peer without sockets.
	 * Messages are converted as in an application without its own beans and properties.
	 * An exchange may take 5 seconds, unless its method says otherwise.
	 * @param <T> the interface
	 * @param type an interface annotated with
	 * {@link org.leaderfollowers.spring.annotation.LfClient @LfClient}
	 * @return an object that implements the interface
	 */
	public <T> T implement(Class<T> type) {
		DefaultListableBeanFactory beanFactory = new DefaultListableBeanFactory();
		beanFactory.addEmbeddedValueResolver(new StandardEnvironment()::resolvePlaceholders);
		return new ClientProxies(beanFactory, List.of(), validator(), List.of(), (client, named) -> this.exchanger)
			.create(type);
	}

	private static @Nullable Validator validator() {
		if (!ClassUtils.isPresent("jakarta.validation.Validator", LfTestPeer.class.getClassLoader())) {
			return null;
		}
		OptionalValidatorFactoryBean validator = new OptionalValidatorFactoryBean();
		validator.afterPropertiesSet();
		return validator;
	}

	/**
	 * Passes the requests of interfaces to this peer without sockets.
	 * @return an object that an application can use in place of a client
	 */
	public Exchanger exchanger() {
		return this.exchanger;
	}

	/**
	 * Answers requests from now on.
	 * @param answers returns the reply to a request, or {@code null} to leave the request
	 * to {@link #next()}. Called by the thread that receives the request
	 * @return this peer
	 */
	public LfTestPeer answer(Function<Request, @Nullable String> answers) {
		this.answers = answers;
		return this;
	}

	/**
	 * Takes the next request that was not answered. Waits for it up to 10 seconds.
	 * @return the request
	 * @throws AssertionError if none comes
	 */
	public Request next() {
		try {
			Request request = this.unanswered.poll(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
			if (request != null) {
				return request;
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		throw new AssertionError("No request came within %s. The peer has received %s so far".formatted(TIMEOUT,
				this.received.isEmpty() ? "nothing" : this.received));
	}

	/**
	 * All requests that were received.
	 * @return the requests in the order of arrival, answered or not
	 */
	public List<Request> received() {
		return List.copyOf(this.received);
	}

	/**
	 * Sends a message that is not a reply to all connected clients.
	 * @param text the message
	 * @throws IllegalStateException if the peer is in memory
	 */
	public void push(String text) {
		listener().connections.forEach((connection) -> connection.send(encode(text)));
	}

	/**
	 * The number of connections. A client may be connected before the peer has noticed
	 * it, so await the connection before you push messages or close connections.
	 * @return the number of open connections
	 * @throws IllegalStateException if the peer is in memory
	 */
	public int connections() {
		return listener().connections.size();
	}

	/** Closes all connections. Exchanges that wait for replies are lost. */
	public void closeConnections() {
		this.exchanger.lose();
		if (this.listener != null) {
			// Not those that clients make meanwhile, in place of the closed ones
			List.copyOf(this.listener.connections).forEach(Connection::close);
		}
	}

	/** Discards received requests, and the function that answers requests. */
	public void reset() {
		this.answers = (request) -> null;
		this.received.clear();
		this.unanswered.clear();
	}

	/** Closes all connections, and stops listening. */
	@Override
	public void close() {
		this.exchanger.lose();
		if (this.listener != null) {
			this.listener.close();
		}
	}

	private ByteBuffer encode(String text) {
		return ByteBuffer.wrap(text.getBytes(this.charset));
	}

	private void receive(ByteBuffer message, Origin origin) {
		byte[] bytes = new byte[message.remaining()];
		message.get(message.position(), bytes);
		Request request = new Request(bytes, this.charset, origin);
		this.received.add(request);
		String answer = this.answers.apply(request);
		if (answer != null) {
			request.reply(answer);
		}
		else {
			this.unanswered.add(request);
		}
	}

	/** The connection that a request came from. */
	private interface Origin {

		void send(ByteBuffer reply);

		void close();

	}

	/**
	 * A message that the peer has received.
	 */
	public static final class Request {

		private final byte[] bytes;

		private final Charset charset;

		private final Origin origin;

		private Request(byte[] bytes, Charset charset, Origin origin) {
			this.bytes = bytes;
			this.charset = charset;
			this.origin = origin;
		}

		/**
		 * The request as text.
		 * @return the payload, decoded
		 */
		public String text() {
			return new String(this.bytes, this.charset);
		}

		/**
		 * The request as bytes.
		 * @return a copy of the payload
		 */
		public byte[] bytes() {
			return this.bytes.clone();
		}

		/**
		 * Replies.
		 * @param text the reply
		 */
		public void reply(String text) {
			reply(text.getBytes(this.charset));
		}

		/**
		 * Replies.
		 * @param reply the payload of the reply
		 */
		public void reply(byte[] reply) {
			this.origin.send(ByteBuffer.wrap(reply));
		}

		/**
		 * Replies later, and returns at once.
		 * @param delay when to reply
		 * @param text the reply
		 */
		public void replyAfter(Duration delay, String text) {
			CompletableFuture.delayedExecutor(delay.toNanos(), TimeUnit.NANOSECONDS).execute(() -> reply(text));
		}

		/**
		 * Closes the connection that the request came from, instead of replying.
		 */
		public void close() {
			this.origin.close();
		}

		@Override
		public String toString() {
			return Printable.describe(this.bytes, this.charset);
		}

	}

	/**
	 * Listens on a socket.
	 */
	private static final class Listener implements MessageHandler {

		private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("test-peer").threads(1, 8).build();

		private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

		private final LfTestPeer peer;

		private final TcpServer server;

		Listener(Framing framing, LfTestPeer peer) {
			this.peer = peer;
			this.server = TcpServer.builder(this.pool)
				.name("test-peer")
				.address(InetAddress.getLoopbackAddress())
				.port(0)
				.framing(framing)
				.handler(this)
				.build();
			this.server.start();
		}

		String address() {
			return this.server.address().getAddress().getHostAddress() + ":" + this.server.port();
		}

		@Override
		public void onOpen(Connection connection) {
			this.connections.add(connection);
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			this.peer.receive(message, new Origin() {

				@Override
				public void send(ByteBuffer reply) {
					connection.send(reply);
				}

				@Override
				public void close() {
					connection.close();
				}

			});
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			this.connections.remove(connection);
		}

		void close() {
			this.server.close(Duration.ZERO);
			this.pool.close();
		}

	}

	/**
	 * Has requests reach the peer by calls.
	 */
	private static final class InMemoryExchanger implements Exchanger {

		private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(5);

		private final Set<CompletableFuture<ByteBuffer>> pending = ConcurrentHashMap.newKeySet();

		private final LfTestPeer peer;

		InMemoryExchanger(LfTestPeer peer) {
			this.peer = peer;
		}

		@Override
		public ByteBuffer exchange(ByteBuffer request, @Nullable Duration timeout) {
			return InMemoryReply.await(exchangeAsync(request, timeout));
		}

		@Override
		public CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, @Nullable Duration timeout) {
			CompletableFuture<ByteBuffer> reply = new CompletableFuture<>();
			this.pending.add(reply);
			reply.whenComplete((value, failure) -> this.pending.remove(reply));
			this.peer.receive(request, new InMemoryReply(reply));
			return InMemoryReply.limit(reply, (timeout != null) ? timeout : REQUEST_TIMEOUT);
		}

		@Override
		public Charset charset() {
			return this.peer.charset;
		}

		void lose() {
			this.pending.forEach((reply) -> new InMemoryReply(reply).close());
		}

	}

	/**
	 * The reply to a request in memory. The first end counts, as in a client.
	 *
	 * @param future completed with it
	 */
	private record InMemoryReply(CompletableFuture<ByteBuffer> future) implements Origin {

		@Override
		public void send(ByteBuffer reply) {
			this.future.complete(reply);
		}

		@Override
		public void close() {
			this.future.completeExceptionally(new ExchangeLostException(
					"The peer has closed the connection before the reply came. It may have executed the request",
					null));
		}

		static CompletableFuture<ByteBuffer> limit(CompletableFuture<ByteBuffer> reply, Duration timeout) {
			if (!reply.isDone()) {
				CompletableFuture.delayedExecutor(timeout.toNanos(), TimeUnit.NANOSECONDS)
					.execute(() -> reply.completeExceptionally(
							new ExchangeTimeoutException("The peer has not replied within " + timeout, null)));
			}
			return reply;
		}

		static ByteBuffer await(CompletableFuture<ByteBuffer> reply) {
			try {
				return reply.get();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new ExchangeLostException("The thread was interrupted before the reply came", ex);
			}
			catch (ExecutionException ex) {
				throw (ex.getCause() instanceof ExchangeException failure) ? failure
						: new IllegalStateException(ex.getCause());
			}
		}

	}

}
