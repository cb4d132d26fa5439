package org.leaderfollowers.spring.server;

import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.spring.internal.Printable;

import org.springframework.util.unit.DataSize;

/**
 * Writes log lines about the lifecycle of servers and pools. Each is one line, whatever
 * their names contain.
 */
final class ServerLog {

	private static final Log logger = LogFactory.getLog(LeaderFollowersServers.class);

	private ServerLog() {
	}

	static void poolStarted(LeaderFollowersPool pool) {
		PoolSnapshot started = pool.snapshot();
		log("Pool '%s' has %s threads and %s, parallelism %d, promotion %s %s, lease %s, and buffers of %s at most",
				started.name(), threads(started), handleSets(started.unfolding()), started.parallelism(),
				lowerCase(started.promotionPolicy()), lowerCase(started.promotionOrder()),
				duration(started.promotionLease()), size(started.maxBufferedBytes()));
	}

	private static String handleSets(PoolSnapshot.UnfoldingSnapshot sets) {
		String most = count(sets.most(), "handle set");
		return (sets.inUse() < sets.most()) ? sets.inUse() + " to " + most : most;
	}

	static void started(Server server) {
		ServerSnapshot started = server.snapshot();
		boolean udp = started.transport() == TransportType.UDP;
		List<String> details = new ArrayList<>();
		if (started.tls() != null) {
			details.add("TLS");
		}
		if (!udp) {
			details.add("framing '%s'".formatted(started.framing()));
		}
		details.add("handler '%s'".formatted(started.handler()));
		details.add("pool '%s'".formatted(started.pool()));
		log("Server '%s' started on %s %d of %s (%s)%s", started.name(), udp ? "UDP port" : "port", started.port(),
				address(server), String.join(", ", details), started.paused() ? ", and is paused" : "");
	}

	static void draining(Server server, Duration timeout, String occasion) {
		log("Server '%s' is draining%s: it will stop when every received message has been answered, in %s at "
				+ "the latest", server.name(), occasion, timeout);
	}

	static void evacuating(Server server, int open, CloseRate rate, String occasion) {
		log("Server '%s' is being evacuated%s: it accepts nothing new, and closes %s at most %s, in %d s at the earliest",
				server.name(), occasion, count(open, "connection"), rate, rate.timeFor(open).toSeconds());
	}

	static void stopped(Server server) {
		log("Server '%s' is stopped", server.name());
	}

	static void paused(Server server, String occasion) {
		log("Server '%s' is paused%s: it accepts nothing new", server.name(), occasion);
	}

	static void resumed(Server server, String occasion) {
		log("Server '%s' is resumed%s", server.name(), occasion);
	}

	private static void log(String format, Object... arguments) {
		if (logger.isInfoEnabled()) {
			logger.info(Printable.of(format.formatted(arguments)));
		}
	}

	private static String address(Server server) {
		InetAddress address = server.address().getAddress();
		return address.isAnyLocalAddress() ? "all addresses" : address.getHostAddress();
	}

	private static String threads(PoolSnapshot pool) {
		return (pool.minThreads() != pool.maxThreads()) ? pool.minThreads() + " to " + pool.maxThreads()
				: Integer.toString(pool.maxThreads());
	}

	private static String count(int number, String noun) {
		return number + " " + noun + ((number != 1) ? "s" : "");
	}

	private static String lowerCase(Enum<?> value) {
		return value.name().toLowerCase(Locale.ROOT);
	}

	/** Formats a duration in the unit that a property would use. */
	private static String duration(Duration duration) {
		long micros = duration.toNanos() / 1000;
		return (micros % 1000 == 0) ? duration.toMillis() + "ms" : micros + "us";
	}

	private static String size(long bytes) {
		DataSize size = DataSize.ofBytes(bytes);
		if (size.toMegabytes() > 0) {
			return size.toMegabytes() + "MB";
		}
		return (size.toKilobytes() > 0) ? size.toKilobytes() + "KB" : bytes + "B";
	}

}
