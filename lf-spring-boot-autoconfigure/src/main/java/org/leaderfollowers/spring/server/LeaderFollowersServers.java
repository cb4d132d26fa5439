package org.leaderfollowers.spring.server;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.leaderfollowers.CloseRate;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.spring.event.ServerPausedEvent;
import org.leaderfollowers.spring.event.ServerResumedEvent;
import org.leaderfollowers.spring.event.ServerStartedEvent;
import org.leaderfollowers.spring.event.ServerStoppedEvent;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.context.ApplicationContext;
import org.springframework.util.Assert;
import org.springframework.util.function.SingletonSupplier;

/**
 * The servers of an application context, by name. They are started and stopped together,
 * by a {@link ServerLifecycle} for each phase.
 * <p>
 * A {@link Server} can be started only once, but a context can be stopped and started
 * again. Do not keep the server that {@link #get(String)} returns for long.
 * <p>
 * This object can be injected into any bean, also into handlers. The servers are
 * assembled when a method is called for the first time, or when the context has created
 * the beans of the application. This needs the handlers, so a handler, or a bean that a
 * handler needs, must not call the methods before it is completely initialized.
 */
public final class LeaderFollowersServers implements Iterable<Server> {

	private final SingletonSupplier<Map<String, ManagedServer>> servers;

	private final EventPublication events;

	/** Used only by the thread that starts the servers; there is one at a time. */
	private final Set<LeaderFollowersPool> announcedPools = new HashSet<>();

	private final DrainThreads drains = new DrainThreads();

	/** Makes the application refuse traffic. */
	private volatile Runnable refusal = () -> {
	};

	private LeaderFollowersServers(Supplier<List<ManagedServer>> servers, EventPublication events) {
		this.servers = SingletonSupplier.of(() -> byName(servers.get()));
		this.events = events;
	}

	private static Map<String, ManagedServer> byName(List<ManagedServer> servers) {
		Map<String, ManagedServer> byName = new LinkedHashMap<>();
		for (ManagedServer server : servers) {
			ManagedServer other = byName.putIfAbsent(server.name(), server);
			Assert.isTrue(other == null,
					() -> "There are two servers named '%s': give one of them another name".formatted(server.name()));
		}
		return byName;
	}

	/**
	 * Creates a builder for the servers of an application context.
	 * @return a builder
	 */
	public static Builder builder() {
		return new Builder();
	}

	/**
	 * Returns the current object of a server.
	 * @param name the name of the server
	 * @return the server, which may not be started yet or may be stopped
	 * @throws UnknownNameException if there is no server of this name
	 */
	public Server get(String name) {
		return managed(name).current();
	}

	/**
	 * Assembles the servers if necessary, which finds mistakes in their configuration and
	 * in their handlers.
	 */
	void prepare() {
		this.servers.obtain();
	}

	private Map<String, ManagedServer> all() {
		return this.servers.obtain();
	}

	private ManagedServer managed(String name) {
		ManagedServer server = all().get(name);
		if (server == null) {
			throw new UnknownNameException(Kind.SERVER, name, names(), null);
		}
		return server;
	}

	/**
	 * Pauses a server, so that it accepts no new connections or datagrams until it is
	 * resumed, and publishes a {@link ServerPausedEvent}. Its port stays bound, and open
	 * connections are served. New clients wait in the queues of the system, as long as
	 * these have room. Does nothing if the server is paused already. Stopping and
	 * starting a server ends its pause.
	 * @param name the name of the server
	 * @throws UnknownNameException if there is no server of this name
	 */
	public void pause(String name) {
		pause(name, "");
	}

	/**
	 * {@linkplain #pause(String) Pauses} a server.
	 * @param name the name of the server
	 * @param occasion text to add to the line of the log, printable; empty for none
	 * @throws UnknownNameException if there is no server of this name
	 */
	public void pause(String name, String occasion) {
		Server server = get(name);
		if (!server.isPaused()) {
			server.pause();
			ServerLog.paused(server, occasion);
			this.events.publish(new ServerPausedEvent(server));
		}
	}

	/**
	 * Resumes a server, so that it accepts waiting and new connections or datagrams, and
	 * publishes a {@link ServerResumedEvent}. Does nothing if the server is not paused.
	 * @param name the name of the server
	 * @throws UnknownNameException if there is no server of this name
	 */
	public void resume(String name) {
		resume(name, "");
	}

	/**
	 * {@linkplain #resume(String) Resumes} a server.
	 * @param name the name of the server
	 * @param occasion text to add to the line of the log, printable; empty for none
	 * @throws UnknownNameException if there is no server of this name
	 */
	public void resume(String name, String occasion) {
		Server server = get(name);
		if (server.isPaused()) {
			server.resume();
			ServerLog.resumed(server, occasion);
			this.events.publish(new ServerResumedEvent(server));
		}
	}

	/**
	 * Stops a server gracefully and permanently, without waiting for the end: it accepts
	 * nothing new and frees its port, answers every message that it has received, and
	 * closes each connection when this is done. When all connections are closed or the
	 * timeout ends, the server is stopped and a {@link ServerStoppedEvent} is published.
	 * It can be started again only together with the application context. To take a
	 * server out for a while, {@linkplain #pause(String) pause} it.
	 * @param name the name of the server
	 * @param timeout how long the drain may take; remaining connections are then closed
	 * @param occasion text to add to the line of the log, printable; empty for none
	 * @return the state of the server when it begins to drain
	 * @throws UnknownNameException if there is no server of this name
	 * @throws IllegalStateException if the server does not run
	 */
	public ServerSnapshot drain(String name, Duration timeout, String occasion) {
		ManagedServer server = managed(name);
		return this.drains.start("lf-drain-" + name, () -> server.beginDrain(timeout, occasion),
				() -> stop(server, timeout));
	}

	/**
	 * Stops a server gradually and permanently, without waiting for the end: it accepts
	 * nothing new and frees its port, and closes its connections at a rate, as a
	 * {@linkplain #drain drain} would do. Connections whose turn has not come are served.
	 * When all connections are closed, the server is stopped and a
	 * {@link ServerStoppedEvent} is published. The application refuses traffic from now
	 * on. If the server is being evacuated already, only the rate changes. A drain or the
	 * shutdown of the application ends the evacuation.
	 * @param name the name of the server
	 * @param rate how many connections are told to end, at most
	 * @param occasion text to add to the line of the log, printable; empty for none
	 * @return the state of the server when it is being evacuated
	 * @throws UnknownNameException if there is no server of this name
	 * @throws IllegalStateException if the server does not run or drains already, or has
	 * no connections
	 */
	public ServerSnapshot evacuate(String name, CloseRate rate, String occasion) {
		ManagedServer server = managed(name);
		if (server.isEvacuating()) {
			return server.evacuate(rate, occasion);
		}
		ServerSnapshot begun = this.drains.start("lf-evacuation-" + name, () -> server.evacuate(rate, occasion), () -> {
			if (server.awaitDrained()) {
				stop(server, Duration.ZERO);
			}
		});
		this.refusal.run();
		return begun;
	}

	/** Sets what makes the application refuse traffic. */
	void onEvacuation(Runnable refusal) {
		this.refusal = refusal;
	}

	/**
	 * Returns the names of all servers.
	 * @return the names in the order in which the servers are started
	 */
	public Set<String> names() {
		return Collections.unmodifiableSet(all().keySet());
	}

	/**
	 * Returns the current objects of the servers, in the order in which they are started.
	 */
	@Override
	public Iterator<Server> iterator() {
		return all().values().stream().map(ManagedServer::current).iterator();
	}

	/**
	 * Starts all servers or none.
	 */
	void start(Consumer<Server> started) {
		this.events.listenersAreKnown();
		Deque<ManagedServer> running = new ArrayDeque<>();
		try {
			List<Server> begun = new ArrayList<>();
			for (ManagedServer server : all().values()) {
				running.push(server);
				if (server.start()) {
					begun.add(server.current());
					LeaderFollowersPool pool = server.current().pool();
					if (this.announcedPools.add(pool)) {
						ServerLog.poolStarted(pool);
					}
				}
				started.accept(server.current());
				this.events.watch(server.current().pool());
			}
			this.events.watchPools();
			begun.forEach((server) -> this.events.publish(new ServerStartedEvent(server)));
		}
		catch (RuntimeException | Error ex) {
			running.forEach((server) -> server.stop(Duration.ZERO));
			throw ex;
		}
	}

	boolean isAnyRunning() {
		return all().values().stream().anyMatch(ManagedServer::isRunning);
	}

	/** The servers that may have unanswered messages. */
	List<ManagedServer> serving() {
		return all().values().stream().filter(ManagedServer::isServing).toList();
	}

	/**
	 * Stops all servers at once, the last one first.
	 * @return other threads that still publish the end of a server
	 */
	List<Thread> stop() {
		Deque<ManagedServer> stopping = new ArrayDeque<>();
		all().values().forEach(stopping::push);
		// A stream closes everything even if a listener fails, and throws the first
		// failure.
		Stream<ManagedServer> closing = Stream.empty();
		for (ManagedServer server : stopping) {
			closing = closing.onClose(() -> stop(server, Duration.ZERO));
		}
		closing.close();
		return this.drains.others();
	}

	private void stop(ManagedServer server, Duration grace) {
		if (server.stop(grace)) {
			ServerLog.stopped(server.current());
			this.events.publish(new ServerStoppedEvent(server.current()));
		}
	}

	/**
	 * Builds the servers of an application context.
	 */
	public static final class Builder {

		private final List<ManagedServer> servers = new ArrayList<>();

		private final List<Consumer<Builder>> later = new ArrayList<>();

		private EventPublication events = new EventPublication(null);

		private Builder() {
		}

		/**
		 * Publishes events of the servers. By default, no events are published.
		 * @param applicationContext the context whose listeners, and those of its
		 * parents, receive the events
		 * @return this builder
		 */
		public Builder publishTo(ApplicationContext applicationContext) {
			Assert.notNull(applicationContext, "'applicationContext' must not be null");
			this.events = new EventPublication(applicationContext);
			return this;
		}

		/**
		 * Adds a server that is a bean. It can be started once.
		 * @param beanName the name of the bean
		 * @param server the bean
		 * @return this builder
		 */
		public Builder bean(String beanName, Server server) {
			Assert.hasText(beanName, "'beanName' must not be empty");
			Assert.notNull(server, "'server' must not be null");
			this.servers.add(ManagedServer.ofBean(beanName, server));
			return this;
		}

		/**
		 * Adds a server that is configured by properties.
		 * @param name the name of the server
		 * @param prefix the prefix of the properties, without a dot at its end
		 * @param factory builds a new server of this name; its argument decorates the
		 * handler, and thereby publishes the events of connections. It is called when the
		 * server is first needed, and again when the server is started after a stop
		 * @return this builder
		 */
		public Builder configured(String name, String prefix,
				Function<MessageHandlerDecorator, ? extends Server> factory) {
			Assert.hasText(name, "'name' must not be empty");
			Assert.hasText(prefix, "'prefix' must not be empty");
			Assert.notNull(factory, "'factory' must not be null");
			this.servers.add(ManagedServer.ofProperties(name, prefix, () -> factory.apply(this.events)));
			return this;
		}

		/**
		 * Adds servers when they are first needed, instead of when the result is built.
		 * Beans that the servers need can therefore have the result injected.
		 * @param servers adds servers to the builder that it receives
		 * @return this builder
		 */
		public Builder later(Consumer<Builder> servers) {
			Assert.notNull(servers, "'servers' must not be null");
			this.later.add(servers);
			return this;
		}

		/**
		 * Builds the servers, which are started in the order in which they were added.
		 * The methods of the result throw an {@link IllegalArgumentException} if two
		 * servers have the same name.
		 * @return the servers
		 */
		public LeaderFollowersServers build() {
			return new LeaderFollowersServers(this::all, this.events);
		}

		private List<ManagedServer> all() {
			Builder all = new Builder();
			all.events = this.events;
			all.servers.addAll(this.servers);
			this.later.forEach((servers) -> servers.accept(all));
			return all.servers;
		}

	}

}
