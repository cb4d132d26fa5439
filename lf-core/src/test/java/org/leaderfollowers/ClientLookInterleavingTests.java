package org.leaderfollowers;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandledWork;

/**
 * The interleavings of a client that looks at its connections with a connection that is
 * established and ends meanwhile. The client is real; its socket is never connected.
 */
@Tag("interleavings")
class ClientLookInterleavingTests {

	@Test
	void aConnectionThatTheApplicationHasSeenIsCountedAsSuch() {
		Exploration.of(Client.class)
			.preemptions(2)
			.adapted(Mutation.failsWith(FailureLog.class, "error", 3),
					Mutation.withoutCall(EngineLog.class, "pass", "add"),
					Mutation.withoutCall(LeaderFollowersPool.class, "<init>", "initialize"),
					Mutation.withoutCall(ClientConnections.class, "connect", "connect"))
			.assertSound();
	}

	/** A client with one connection. */
	static final class Client implements Scenario {

		private final LeaderFollowersPool pool = LeaderFollowersPool.builder()
			.name("explored")
			.threads(1, 1)
			.maxBufferedBytes(1 << 20)
			.selectorProvider(new ScriptedSelectors(Clock.SYSTEM))
			.build();

		private final Participant me = new Participant(1, new Follower(1, Thread.currentThread()),
				Thread.currentThread(), true, null, (participant, exchange) -> exchange.state(), this.pool.memory(), 0);

		private final ClientCounters counters = new ClientCounters(1);

		private final ClientConnections connections;

		private final TcpConnection connection;

		Client() {
			ClientOptions options = new ClientOptions(1, new TcpSocketOptions(true, false, 0, 0), Correlation.inOrder(),
					4, 0, TimeUnit.HOURS.toNanos(1), TimeUnit.HOURS.toNanos(1), TimeUnit.HOURS.toNanos(1), 0, null,
					(request) -> false, () -> null, InetAddress::getAllByName);
			this.connections = new ClientConnections("explored", List.of(new InetSocketAddress(1)), options,
					this.counters, new Places(Clock.SYSTEM), this.pool.handleSets()::newTimer, this::context);
			look();
			this.connection = this.connections.context().registry().all().stream().findFirst().orElseThrow();
		}

		private ConnectionContext context(ClientConnections created) {
			ServerWarnings warnings = new ServerWarnings("explored", "handler", "pool");
			return new ConnectionContext(new ServerState("explored", warnings),
					new ClientHandler((connection, message) -> {
					}, this.counters, created), Framing.line(),
					new ConnectionContext.Limits(100, 101, 1024, false, 0, 0),
					new ConnectionTimeouts(0, 0, 0, 0, 0, 0, 0, 0), this.counters.ofConnections, warnings,
					new ConnectionRegistry(created::look), null, new PoolHandles(this.pool, SelectionKey.OP_CONNECT),
					Clock.SYSTEM, this.pool.memory(), HandledWork.ofClient("explored", "handler"), null,
					new WireLog("explored"), true, null, null);
		}

		private void look() {
			if (this.connections.prepare(this.me)) {
				this.connections.dispatch(this.me);
			}
		}

		@Override
		public void begin() {
			Interleaving.start("looks", () -> this.connections.prepare(this.me));
			Interleaving.start("is established and ends", () -> {
				this.connections.opened(this.connection);
				this.connection.abandon();
			});
		}

		@Override
		public @Nullable String violationAtRest() {
			this.connections.prepare(this.me);
			boolean isCounted = this.counters.connects.sum() == 1 && this.counters.disconnects.sum() == 1
					&& this.counters.failedConnects.sum() == 0;
			return isCounted ? null : "connects %s, disconnects %s, failed %s".formatted(this.counters.connects,
					this.counters.disconnects, this.counters.failedConnects);
		}

	}

}
