package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The designs that are compared. Each server is written as an expert in its technology
 * would write it: a comparison with a bad server shows nothing.
 */
public enum ServerKind {

	/** Our engine, promoting before every dispatch. */
	LF_EAGER("lf-eager", (options, work) -> new LeaderFollowersServer("EAGER", options, work)),

	/** Our engine, promoting where it has learned that promotion pays. */
	LF_ADAPTIVE("lf-adaptive", (options, work) -> new LeaderFollowersServer("ADAPTIVE", options, work),
			() -> LeaderFollowersServer.hasPolicy("ADAPTIVE"), "the engine has no promotion policy ADAPTIVE"),

	/**
	 * Our engine in a Spring application, whose handler is a method from text to text.
	 */
	LF_ON_MESSAGE("lf-on-message", SpringBootServer::withMethod),

	/** Our engine in a Spring application, without meters. */
	LF_SPRING("lf-spring", SpringBootServer::withoutMeters),

	/** The same with meters. */
	LF_METERED("lf-metered", SpringBootServer::withMeters),

	/** A bare loop in one thread. */
	NIO("nio", NioServer::new),

	/** Leader/Followers as in the paper. */
	TEXTBOOK_LF("textbook-lf", TextbookServer::new),

	/** One thread reads, others handle and write. */
	HSHR("hshr", HalfSyncHalfReactiveServer::new),

	/** A platform thread for each connection. */
	THREADS("threads", ThreadPerConnectionServer::onPlatformThreads),

	/** A virtual thread for each connection. */
	VIRTUAL("virtual", ThreadPerConnectionServer::onVirtualThreads, ThreadPerConnectionServer::hasVirtualThreads,
			"virtual threads need JDK 21 or later"),

	/** Netty on epoll, the handler on the loop. */
	NETTY_EPOLL("netty-epoll", NettyServer::onEpoll, NettyServer::hasEpoll, ServerKind.NO_EPOLL),

	/** Netty on NIO, the handler on the loop. */
	NETTY_NIO("netty-nio", NettyServer::onNio),

	/** Netty on epoll, the handler on a group of executors. */
	NETTY_EPOLL_EXECUTOR("netty-epoll-executor", NettyServer::onEpollAndExecutors, NettyServer::hasEpoll,
			ServerKind.NO_EPOLL),

	/** Netty on NIO, the handler on a group of executors. */
	NETTY_NIO_EXECUTOR("netty-nio-executor", NettyServer::onNioAndExecutors),

	/** Grizzly with its Leader/Followers strategy. */
	GRIZZLY("grizzly", GrizzlyServer::new),

	/** Spring Integration with NIO. */
	SPRING_INTEGRATION("spring-integration", SpringIntegrationServer::new);

	private static final String NO_EPOLL = "Netty has no native epoll transport for this system";

	private final String id;

	private final Starter starter;

	private final BooleanSupplier supported;

	private final String reason;

	ServerKind(String id, Starter starter) {
		this(id, starter, () -> true, "");
	}

	ServerKind(String id, Starter starter, BooleanSupplier supported, String reason) {
		this.id = id;
		this.starter = starter;
		this.supported = supported;
		this.reason = reason;
	}

	/**
	 * Returns its name on a command line and in reports.
	 * @return lower case
	 */
	public String id() {
		return this.id;
	}

	/**
	 * Returns why the server does not run on this JDK and system.
	 * @return the reason; nothing if it does run
	 */
	public Optional<String> unsupportedReason() {
		return this.supported.getAsBoolean() ? Optional.empty() : Optional.of(this.reason);
	}

	/**
	 * Whether messages of one connection are answered in the order of their arrival, even
	 * if the client does not wait for each reply.
	 * @return {@code false} for {@link #SPRING_INTEGRATION} only
	 */
	public boolean isOrdered() {
		return this != SPRING_INTEGRATION;
	}

	/** Whether the kind uses {@link ServerOptions#loops}. */
	private boolean hasLoops() {
		return this.id.startsWith("lf-") || this.id.startsWith("netty-");
	}

	/**
	 * Starts a server on a port of the loopback interface. When this method returns,
	 * clients can connect.
	 * @param options the options of the server
	 * @return the server
	 * @throws IOException if it cannot be started
	 * @throws UnsupportedOperationException if it does not run here
	 */
	public EchoServer start(ServerOptions options) throws IOException {
		Optional<String> unsupported = unsupportedReason();
		if (unsupported.isPresent()) {
			throw new UnsupportedOperationException(unsupported.get());
		}
		if (options.loops() > 0 && !hasLoops()) {
			throw new UnsupportedOperationException("the number of threads that wait for events cannot be set");
		}
		return this.starter.start(options, options.work().prepare(options.cpuIterations()));
	}

	/**
	 * Finds the kind of server with a name.
	 * @param id its {@link #id()}
	 * @return nothing if there is none
	 */
	public static Optional<ServerKind> of(String id) {
		return Arrays.stream(values()).filter((kind) -> kind.id.equals(id)).findFirst();
	}

	@Override
	public String toString() {
		return this.id;
	}

	@FunctionalInterface
	private interface Starter {

		EchoServer start(ServerOptions options, Runnable work) throws IOException;

	}

}
