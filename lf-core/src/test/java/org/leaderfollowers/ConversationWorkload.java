package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.leaderfollowers.simulation.SimulatedPeer;
import org.leaderfollowers.simulation.SimulatedPeer.Frames;
import org.leaderfollowers.simulation.SimulatedTlsContext;
import org.leaderfollowers.simulation.Simulator;

/**
 * Handlers that receive further messages while memory is short. The only thread reads the
 * messages of other connections meanwhile. A handler that could not receive a message
 * goes on, and the message comes next: the peers notice if one is missing.
 */
public final class ConversationWorkload implements Runnable {

	private static final long PATIENCE_NANOS = Duration.ofSeconds(20).toNanos();

	private final Simulator simulator;

	/** Creates the workload of a run. */
	public ConversationWorkload(Simulator simulator) {
		this.simulator = simulator;
	}

	@Override
	public void run() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder()
			.selectorProvider(this.simulator.network())
			.threads(1, 1)
			.build();
		SimulatedTlsContext tls = (this.simulator.seed() % 2 == 0) ? new SimulatedTlsContext(this.simulator) : null;
		TcpServer.Builder builder = TcpServer.builder(pool)
			.port(0)
			.framing(Framing.line())
			.correlation(Correlation.byKey((message) -> null))
			.handler(this::onMessage);
		if (tls != null) {
			builder.tls(ServerTls.of(tls));
		}
		TcpServer server = builder.build();
		server.start();
		this.simulator.beginFaults();
		this.simulator.network().failures(0, 100);
		List<SimulatedPeer> peers = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			peers.add(new SimulatedPeer(this.simulator, server.port(), Frames.LINE, "rrrrrrrrrrrr", false,
					(tls != null) ? new SimulatedPeer.Tls(tls, false, false) : null));
		}
		boolean done = this.simulator.await("awaits the peers",
				() -> peers.stream().allMatch((peer) -> peer.isFinished() || peer.fallsSilent()),
				this.simulator.nanoTime() + PATIENCE_NANOS);
		if (!done) {
			this.simulator.fail("not answered: " + peers + this.simulator.describeThreads());
		}
		this.simulator.endFaults();
		pool.close(Duration.ofSeconds(30));
	}

	private void onMessage(Connection connection, ByteBuffer message) {
		reply(connection, message);
		try {
			reply(connection, connection.receive(Duration.ofMillis(1)));
		}
		catch (ExchangeTimeoutException | OutOfMemoryError ex) {
			this.simulator.note("no further message was received: " + ex);
		}
	}

	private void reply(Connection connection, ByteBuffer message) {
		ByteBuffer reply = SimulatedPeer.message(this.simulator, Frames.LINE, 'R', SimulatedPeer.number(message));
		try {
			connection.send(reply);
		}
		catch (OutOfMemoryError ex) {
			connection.fail(ex);
		}
	}

}
