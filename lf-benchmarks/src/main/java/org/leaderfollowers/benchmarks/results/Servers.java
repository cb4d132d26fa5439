package org.leaderfollowers.benchmarks.results;

import java.util.Comparator;
import java.util.List;

/**
 * Names of servers that statements are made about. {@code @n} after a name stands for
 * {@code n} handle sets of this engine, or {@code n} event loops of Netty.
 */
public final class Servers {

	/** This engine as it is by default. */
	public static final String ADAPTIVE = "lf-adaptive";

	/** This engine with two handle sets. */
	public static final String ADAPTIVE_TWO_SETS = "lf-adaptive@2";

	/** This engine promoting before every dispatch, as in the paper. */
	public static final String EAGER = "lf-eager";

	/** This engine, promoting before every dispatch, with two handle sets. */
	public static final String EAGER_TWO_SETS = "lf-eager@2";

	/**
	 * This engine in a Spring application, whose handler is a method from text to text.
	 */
	public static final String ON_MESSAGE = "lf-on-message";

	/** This engine in a Spring application, without meters. */
	public static final String SPRING = "lf-spring";

	/** The same with meters. */
	public static final String METERED = "lf-metered";

	/** The pattern as a textbook has it. */
	public static final String TEXTBOOK = "textbook-lf";

	/** Half-sync/half-reactive, which the paper compares with. */
	public static final String HALF_SYNC = "hshr";

	/** A loop over a selector in one thread. */
	public static final String NIO = "nio";

	/** Netty's native transport, the handler on the event loop. */
	public static final String NETTY = "netty-epoll";

	/** The same with one event loop. */
	public static final String NETTY_ONE_LOOP = "netty-epoll@1";

	/** The same with two event loops. */
	public static final String NETTY_TWO_LOOPS = "netty-epoll@2";

	/** Netty on NIO, the handler on the event loop. */
	public static final String NETTY_NIO = "netty-nio";

	/** Netty's native transport, the handler on other threads. */
	public static final String NETTY_EXECUTOR = "netty-epoll-executor";

	/** Netty on NIO, the handler on other threads. */
	public static final String NETTY_NIO_EXECUTOR = "netty-nio-executor";

	/** A virtual thread for each connection. */
	public static final String VIRTUAL = "virtual";

	/** A thread for each connection. */
	public static final String THREADS = "threads";

	/** Grizzly with its leader/follower strategy. */
	public static final String GRIZZLY = "grizzly";

	/** Spring Integration's TCP on NIO. */
	public static final String SPRING_INTEGRATION = "spring-integration";

	/** All, in the order of the tables. */
	public static final List<String> ALL = List.of(ADAPTIVE, ADAPTIVE_TWO_SETS, EAGER, EAGER_TWO_SETS, ON_MESSAGE,
			SPRING, METERED, TEXTBOOK, HALF_SYNC, NIO, NETTY, NETTY_ONE_LOOP, NETTY_TWO_LOOPS, NETTY_NIO,
			NETTY_EXECUTOR, NETTY_NIO_EXECUTOR, VIRTUAL, THREADS, GRIZZLY, SPRING_INTEGRATION);

	private static final String NETTY_PREFIX = "netty-";

	private Servers() {
	}

	/**
	 * Whether a server is this engine.
	 * @param server its name
	 * @return whether it is
	 */
	public static boolean isEngine(String server) {
		return server.startsWith("lf-");
	}

	/**
	 * Whether a server is Netty's native transport with the handler on the event loop,
	 * however many loops it has.
	 * @param server its name
	 * @return whether it is
	 */
	public static boolean isNettyEpoll(String server) {
		return server.equals(NETTY) || server.startsWith(NETTY + "@");
	}

	/**
	 * Servers in the order of the tables, those that are not known here last.
	 * @param servers the servers
	 * @return the same in order
	 */
	public static List<String> sorted(List<String> servers) {
		return servers.stream()
			.sorted(Comparator.comparingInt((server) -> ALL.contains(server) ? ALL.indexOf(server) : ALL.size()))
			.toList();
	}

	/**
	 * What a server is.
	 * @param server its name
	 * @return a phrase
	 */
	public static String description(String server) {
		int at = server.indexOf('@');
		if (at >= 0) {
			String count = server.substring(at + 1);
			return what(server.substring(0, at)) + ", with " + count
					+ (isEngine(server) ? " handle set" : " event loop") + (count.equals("1") ? "" : "s");
		}
		return what(server) + (server.startsWith(NETTY_PREFIX) ? ", with its default of two loops per processor" : "");
	}

	private static String what(String server) {
		return switch (server) {
			case ADAPTIVE -> "This engine: promotes when it has learned that the handler takes long";
			case EAGER -> "This engine, promoting before every dispatch";
			case ON_MESSAGE -> "This engine in a Spring application: an @OnMessage method from String to String";
			case SPRING -> "This engine in a Spring application, without meters";
			case METERED -> "This engine in a Spring application with meters";
			case TEXTBOOK -> "Leader/Followers as in the paper: deactivate, promote, process, reactivate";
			case HALF_SYNC -> "Half-sync/half-reactive: one thread reads, others take the requests from a queue";
			case NIO -> "A loop over a selector in one thread, and nothing else";
			case NETTY -> "Netty on its native epoll transport, the handler on the event loop";
			case NETTY_NIO -> "Netty on NIO, the handler on the event loop";
			case NETTY_EXECUTOR -> "Netty on its native epoll transport, the handler on a group of executors";
			case NETTY_NIO_EXECUTOR -> "Netty on NIO, the handler on a group of executors";
			case VIRTUAL -> "A virtual thread for each connection";
			case THREADS -> "A platform thread for each connection";
			case GRIZZLY -> "Grizzly with its leader/follower strategy";
			case SPRING_INTEGRATION -> "Spring Integration's TCP server on NIO";
			default -> "Another server";
		};
	}

}
