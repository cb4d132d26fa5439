package org.leaderfollowers.spring.autoconfigure;

import java.util.function.Function;
import java.util.function.ToDoubleFunction;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.RunningHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.ServerSnapshot.Datagrams;
import org.leaderfollowers.ServerSnapshot.State;
import org.leaderfollowers.ServerSnapshot.Tls;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.spring.limit.ClientLimiter;
import org.leaderfollowers.spring.limit.ClientLimiter.Effect;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.util.Assert;

/**
 * Meters of the servers of an application context. A registry that reads them causes a
 * snapshot. A server that is stopped and started again keeps its meters, and its counters
 * continue.
 */
final class ServerMetrics implements MeterBinder, AutoCloseable {

	private final LeaderFollowersServers servers;

	private final ClientLimiters limiters;

	private final Meters meters = new Meters();

	/**
	 * Creates new metrics.
	 * @param servers the servers to measure
	 * @param limiters the limits that apply to each client of a server
	 */
	public ServerMetrics(LeaderFollowersServers servers, ClientLimiters limiters) {
		Assert.notNull(servers, "'servers' must not be null");
		this.servers = servers;
		this.limiters = limiters;
	}

	/**
	 * Registers the meters of all servers. Further registries can follow. Binding the
	 * same registry again has no effect.
	 */
	@Override
	public void bindTo(MeterRegistry registry) {
		if (!this.meters.bindTo(registry)) {
			return;
		}
		for (String name : this.servers.names()) {
			ServerSnapshot now = this.servers.get(name).snapshot();
			Meters.Reader<Server, ServerSnapshot> server = this.meters.of(registry, () -> this.servers.get(name),
					Server::snapshot, Tags.of("server", name));
			bind(server);
			if (now.transport() == TransportType.UDP) {
				bindDatagrams(server);
			}
			else {
				bindConnections(server);
			}
			if (now.tls() != null) {
				bindTls(server);
			}
			ClientLimiter limiter = this.limiters.get(name);
			if (limiter != null) {
				bindLimits(this.meters.of(registry, () -> limiter, Function.identity(), Tags.of("server", name)),
						limiter.isForDatagrams());
			}
			bindHandler(this.meters.of(registry, () -> this.servers.get(name).pool(), LeaderFollowersPool::snapshot,
					Tags.of("pool", now.pool(), "server", name, "handler", now.handler())), name);
		}
	}

	private static void bind(Meters.Reader<Server, ServerSnapshot> server) {
		server.gauge("lf.server.accepting", "Whether the server accepts new connections or datagrams: 1 or 0",
				(now) -> isAccepting(now) ? 1 : 0);
		server.and("direction", "received")
			.counter("lf.bytes", BaseUnits.BYTES, "Data that was received or sent, framing included",
					ServerSnapshot::receivedBytes);
		server.and("direction", "sent")
			.counter("lf.bytes", BaseUnits.BYTES, "Data that was received or sent, framing included",
					ServerSnapshot::sentBytes);
	}

	private static boolean isAccepting(ServerSnapshot server) {
		return server.state() == State.RUNNING && server.listening() && !server.paused()
				&& !server.acceptingSuspended();
	}

	private static void bindConnections(Meters.Reader<Server, ServerSnapshot> server) {
		server.gauge("lf.connections", "Open connections", ServerSnapshot::openConnections);
		server.gauge("lf.connections.max", "Maximum number of open connections", ServerSnapshot::maxConnections);
		server.counter("lf.connections.accepted", "Connections that were accepted",
				ServerSnapshot::acceptedConnections);
		server.counter("lf.connections.rejected", "Connections that were rejected because the maximum number was open",
				ServerSnapshot::rejectedConnections);
		for (CloseReason reason : CloseReason.values()) {
			server.and("reason", Meters.tag(reason))
				.counter("lf.connections.closed", "Connections that were closed, by reason",
						(now) -> now.closedConnections().getOrDefault(reason, 0L));
		}
	}

	private static void bindTls(Meters.Reader<Server, ServerSnapshot> server) {
		String description = "TLS handshakes, by outcome";
		server.and("outcome", "completed").counter("lf.tls.handshakes", description, tls(Tls::completedHandshakes));
		server.and("outcome", "failed").counter("lf.tls.handshakes", description, tls(Tls::failedHandshakes));
		server.gauge("lf.tls.handshakes.pending", "TLS handshakes that are under way", tls(Tls::pendingHandshakes));
		server.counter("lf.tls.handshakes.limit",
				"Times that accepting stopped because too many TLS handshakes were under way or had begun",
				tls(Tls::limitReached));
	}

	private static void bindDatagrams(Meters.Reader<Server, ServerSnapshot> server) {
		server.gauge("lf.datagrams", "Datagrams that are being handled or suspended", datagrams(Datagrams::inFlight));
		server.gauge("lf.datagrams.max", "Maximum number of datagrams that are handled or suspended",
				datagrams(Datagrams::maxInFlight));
		server.counter("lf.datagrams.limit",
				"Times that reading stopped because the maximum number of datagrams was being handled",
				datagrams(Datagrams::limitReached));
		String rejected = "Datagrams that were dropped because they were too large or their sender was forged";
		server.and("reason", "truncated").counter("lf.datagrams.rejected", rejected, datagrams(Datagrams::truncated));
		server.and("reason", "forged").counter("lf.datagrams.rejected", rejected, datagrams(Datagrams::rejected));
		String replies = "Replies to datagrams, by outcome";
		server.and("outcome", "sent").counter("lf.datagrams.replies", replies, datagrams(Datagrams::sentReplies));
		server.and("outcome", "refused").counter("lf.datagrams.replies", replies, datagrams(Datagrams::refusedReplies));
		server.and("outcome", "dropped").counter("lf.datagrams.replies", replies, datagrams(Datagrams::droppedReplies));
		server.and("outcome", "limited").counter("lf.datagrams.replies", replies, datagrams(Datagrams::limitedReplies));
	}

	private static void bindLimits(Meters.Reader<ClientLimiter, ClientLimiter> server, boolean datagrams) {
		for (Limit limit : Limit.values()) {
			for (Effect effect : Effect.values()) {
				if (limit.isPossible(effect, datagrams)) {
					server.and("limit", Meters.tag(limit))
						.and("action", Meters.tag(effect))
						.counter("lf.server.limited",
								"Times that a client exceeded a limit, by the limit and what was done",
								(now) -> now.excesses(limit, effect));
				}
			}
		}
	}

	private static void bindHandler(Meters.Reader<LeaderFollowersPool, PoolSnapshot> pool, String server) {
		pool.gauge("lf.handler.threads", "Threads that run the handler",
				(now) -> now.runningHandlers()
					.stream()
					.filter((running) -> server.equals(running.server()))
					.mapToInt(RunningHandler::threads)
					.sum());
	}

	private static ToDoubleFunction<ServerSnapshot> tls(ToDoubleFunction<Tls> value) {
		return (server) -> (server.tls() != null) ? value.applyAsDouble(server.tls()) : 0;
	}

	private static ToDoubleFunction<ServerSnapshot> datagrams(ToDoubleFunction<Datagrams> value) {
		return (server) -> (server.datagrams() != null) ? value.applyAsDouble(server.datagrams()) : 0;
	}

	/**
	 * Removes the meters.
	 */
	@Override
	public void close() {
		this.meters.remove();
	}

}
