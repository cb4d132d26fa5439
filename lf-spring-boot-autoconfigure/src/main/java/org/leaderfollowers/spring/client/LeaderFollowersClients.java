package org.leaderfollowers.spring.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.ClientSnapshot.State;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.event.ClientStateChangedEvent;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.SmartLifecycle;
import org.springframework.util.Assert;

/**
 * The clients of an application context, by name. Its {@link #lifecycle() lifecycle}
 * starts them before the servers, and closes them after the servers were stopped, so
 * handlers can use them until their last message is handled. If a context is stopped and
 * started again, it starts the same clients again.
 * <p>
 * This object can be injected into any bean, also into handlers. The clients are
 * assembled when a method is called for the first time, or when the context creates the
 * lifecycle.
 */
public final class LeaderFollowersClients implements Iterable<TcpClient>, AutoCloseable {

	/** Started before the servers and the web server, and stopped after them. */
	private static final int PHASE = SmartLifecycle.DEFAULT_PHASE - 2048 - 512;

	private static final Log logger = LogFactory.getLog(LeaderFollowersClients.class);

	private final Supplier<Map<String, Registration>> assembly;

	/** By name; {@code null} until they are assembled. */
	private volatile @Nullable Map<String, Registration> clients;

	private final Duration grace;

	private final Consumer<ApplicationEvent> events;

	private LeaderFollowersClients(Builder builder) {
		this.assembly = builder::all;
		this.grace = builder.grace;
		this.events = builder.events;
	}

	/**
	 * Creates a builder for the clients of an application context.
	 * @return a builder
	 */
	public static Builder builder() {
		return new Builder();
	}

	/**
	 * Returns a client.
	 * @param name the name of the client
	 * @return the client, which may not have been started yet
	 * @throws UnknownNameException if there is no client of this name
	 */
	public TcpClient get(String name) {
		return registration(name).client();
	}

	/**
	 * Whether the application can work without a client. Its state then affects neither
	 * health nor readiness.
	 * @param name the name of the client
	 * @return {@code true} if the client is optional
	 * @throws UnknownNameException if there is no client of this name
	 */
	public boolean isOptional(String name) {
		return registration(name).optional();
	}

	private Map<String, Registration> all() {
		Map<String, Registration> all = this.clients;
		if (all == null) {
			synchronized (this.assembly) {
				all = this.clients;
				if (all == null) {
					all = this.assembly.get();
					this.clients = all;
				}
			}
		}
		return all;
	}

	private Registration registration(String name) {
		Registration registration = all().get(name);
		if (registration == null) {
			throw new UnknownNameException(Kind.CLIENT, name, names(), null);
		}
		return registration;
	}

	/**
	 * Returns the names of all clients.
	 * @return the names in the order in which the clients are started
	 */
	public Set<String> names() {
		return Collections.unmodifiableSet(all().keySet());
	}

	/**
	 * Returns the clients in the order in which they are started.
	 */
	@Override
	public Iterator<TcpClient> iterator() {
		return all().values().stream().map(Registration::client).iterator();
	}

	private void start() {
		// All handlers are prepared first, so that mistakes are found before any client
		// connects.
		all().values().forEach(Registration::prepare);
		for (TcpClient client : this) {
			// The configuration of a bean may have started it.
			if (!isServing(client)) {
				client.start();
				ClientSnapshot started = client.snapshot();
				logger.info("Client '%s' connects to %s (pool '%s')".formatted(started.name(),
						String.join(", ", started.addresses().stream().map(ClientSnapshot.Address::address).toList()),
						started.pool()));
				this.events.accept(new ClientStateChangedEvent(client, State.RUNNING));
			}
		}
	}

	private static boolean isServing(TcpClient client) {
		State state = client.snapshot().state();
		return state == State.RUNNING || state == State.CLOSING;
	}

	/**
	 * Closes the clients. Clients with requests under way wait for the replies: all of
	 * them together at most for the duration of a shutdown phase.
	 */
	@Override
	public void close() {
		// Not published, because the listeners may have been destroyed already.
		close((client) -> {
		});
	}

	private void close(Consumer<TcpClient> closed) {
		if (this.clients == null) {
			return;
		}
		long end = System.nanoTime() + TimeUnit.NANOSECONDS.convert(this.grace);
		// A stream closes everything even if a listener fails, and throws the first
		// failure.
		Stream<TcpClient> closing = Stream.empty();
		for (TcpClient client : this) {
			closing = closing.onClose(() -> close(client, end, closed));
		}
		closing.close();
	}

	private static void close(TcpClient client, long end, Consumer<TcpClient> closed) {
		if (isServing(client)) {
			if (!client.close(Duration.ofNanos(Math.max(0, end - System.nanoTime())))) {
				logger.warn("Client '%s' was closed before it got all replies".formatted(client.name()));
			}
			closed.accept(client);
		}
	}

	/**
	 * Starts the clients before the servers, and closes them after the servers were
	 * stopped. A client with an invalid handler fails the start of the context; an
	 * unreachable peer does not.
	 * @return a lifecycle for these clients
	 */
	public SmartLifecycle lifecycle() {
		// Done now, so that mistakes are found before anything is started.
		all();
		return new Lifecycle(this);
	}

	private static final class Lifecycle implements SmartLifecycle {

		private final LeaderFollowersClients clients;

		private volatile boolean running;

		private Lifecycle(LeaderFollowersClients clients) {
			this.clients = clients;
		}

		@Override
		public void start() {
			this.clients.start();
			this.running = true;
		}

		@Override
		public void stop() {
			this.running = false;
			this.clients
				.close((client) -> this.clients.events.accept(new ClientStateChangedEvent(client, State.CLOSED)));
		}

		@Override
		public void stop(Runnable callback) {
			Runnable end = () -> {
				try {
					stop();
				}
				finally {
					callback.run();
				}
			};
			try {
				Thread thread = new Thread(end, "lf-clients");
				thread.setDaemon(true);
				thread.start();
			}
			catch (OutOfMemoryError ex) {
				// No thread could be started. The close is limited in time.
				end.run();
			}
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

		@Override
		public int getPhase() {
			return PHASE;
		}

		/**
		 * The servers keep running, and their handlers need the clients.
		 */
		@Override
		public boolean isPauseable() {
			return false;
		}

	}

	/**
	 * A client and its role in the context.
	 *
	 * @param client the client
	 * @param optional whether the application can work without it
	 * @param handler its handler if it was created here, or {@code null}
	 */
	private record Registration(TcpClient client, boolean optional, @Nullable ClientHandler handler) {

		void prepare() {
			if (this.handler != null) {
				this.handler.prepare(this.client);
			}
		}

	}

	/**
	 * Builds the clients of an application context.
	 */
	public static final class Builder {

		private final Map<String, Registration> clients = new LinkedHashMap<>();

		private final List<Consumer<Builder>> later = new ArrayList<>();

		private Duration grace = Duration.ofSeconds(30);

		private Consumer<ApplicationEvent> events = (event) -> {
		};

		private Builder() {
		}

		/**
		 * Publishes events of the clients that are added from now on. By default, no
		 * events are published.
		 * @param publisher publishes the events
		 * @return this builder
		 */
		public Builder publishTo(ApplicationEventPublisher publisher) {
			Assert.notNull(publisher, "'publisher' must not be null");
			this.events = publisher::publishEvent;
			return this;
		}

		/**
		 * How long clients wait for replies when they are closed.
		 * @param grace the default is 30 seconds
		 * @return this builder
		 */
		public Builder grace(Duration grace) {
			Assert.notNull(grace, "'grace' must not be null");
			this.grace = grace;
			return this;
		}

		/**
		 * Adds a client that is a bean.
		 * @param client the client, which may have been started
		 * @param optional whether the application can work without it
		 * @return this builder
		 * @throws IllegalArgumentException if another client has the same name
		 */
		public Builder bean(TcpClient client, boolean optional) {
			return add(client, optional, null);
		}

		/**
		 * Adds a client that is configured by properties.
		 * @param optional whether the application can work without it
		 * @param handler creates the handler of messages that are not replies. It is
		 * called when the client is started, before any connection is made
		 * @param factory builds the client with the handler that it receives, which also
		 * publishes the events of connections
		 * @return this builder
		 * @throws IllegalArgumentException if another client has the same name
		 */
		public Builder configured(boolean optional, Supplier<MessageHandler> handler,
				Function<MessageHandler, TcpClient> factory) {
			Assert.notNull(handler, "'handler' must not be null");
			Assert.notNull(factory, "'factory' must not be null");
			ClientHandler publishing = new ClientHandler(handler, this.events);
			return add(factory.apply(publishing), optional, publishing);
		}

		private Builder add(TcpClient client, boolean optional, @Nullable ClientHandler handler) {
			Assert.notNull(client, "'client' must not be null");
			Registration other = this.clients.putIfAbsent(client.name(), new Registration(client, optional, handler));
			Assert.isTrue(other == null,
					() -> "There are two clients named '%s': give one of them another name".formatted(client.name()));
			return this;
		}

		/**
		 * Adds clients when they are first needed, instead of when the result is built.
		 * Beans that the clients need can therefore have the result injected.
		 * @param clients adds clients to the builder that it receives
		 * @return this builder
		 */
		public Builder later(Consumer<Builder> clients) {
			Assert.notNull(clients, "'clients' must not be null");
			this.later.add(clients);
			return this;
		}

		private Map<String, Registration> all() {
			Builder all = new Builder();
			all.events = this.events;
			all.clients.putAll(this.clients);
			this.later.forEach((clients) -> clients.accept(all));
			return all.clients;
		}

		/**
		 * Builds the clients, which are started in the order in which they were added.
		 * @return the clients
		 */
		public LeaderFollowersClients build() {
			return new LeaderFollowersClients(this);
		}

	}

}
