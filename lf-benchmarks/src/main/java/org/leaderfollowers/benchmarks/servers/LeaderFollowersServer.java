package org.leaderfollowers.benchmarks.servers;

import java.time.Duration;

import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.TcpServer;

/**
 * Our engine, as a user would set it up.
 */
final class LeaderFollowersServer implements EchoServer {

	private static final int MIN_THREADS = 4;

	private static final int MAX_CONNECTIONS = 100_000;

	private final LeaderFollowersPool pool;

	private final int maxMessage;

	private final int port;

	LeaderFollowersServer(String policy, ServerOptions options, Runnable work) {
		LeaderFollowersPool.Builder builder = LeaderFollowersPool.builder()
			.name("benchmark")
			.promotionPolicy(PromotionPolicy.valueOf(policy));
		if (options.threads() != ServerOptions.DEFAULT_THREADS || options.loops() > 0) {
			int minThreads = Math.max(Math.min(MIN_THREADS, options.threads()), options.loops());
			builder.threads(minThreads, Math.max(minThreads, options.threads()));
		}
		if (options.loops() > 0) {
			builder.handleSets(options.loops());
		}
		this.pool = builder.build();
		this.maxMessage = options.maxMessage();
		this.port = listen("default", work);
	}

	private int listen(String name, Runnable work) {
		TcpServer server = TcpServer.builder(this.pool)
			.name(name)
			.address(Loopback.address())
			.port(0)
			.backlog(Loopback.BACKLOG)
			.maxConnections(MAX_CONNECTIONS)
			.maxMessageSize(this.maxMessage)
			.framing(Framing.line())
			.handler((connection, message) -> {
				work.run();
				connection.send(message);
			})
			.build();
		server.start();
		return server.port();
	}

	@Override
	public int open(Runnable work) {
		return listen("neighbour", work);
	}

	/** The engine on the class path may be older than the policy. */
	static boolean hasPolicy(String policy) {
		for (PromotionPolicy candidate : PromotionPolicy.values()) {
			if (candidate.name().equals(policy)) {
				return true;
			}
		}
		return false;
	}

	@Override
	public int port() {
		return this.port;
	}

	@Override
	public void close() {
		// Closes its servers as well.
		this.pool.close(Duration.ZERO);
	}

}
