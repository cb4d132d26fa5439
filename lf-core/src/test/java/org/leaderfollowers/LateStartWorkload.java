package org.leaderfollowers;

import java.time.Duration;

import org.leaderfollowers.simulation.SimulatedPeer;
import org.leaderfollowers.simulation.SimulatedPeer.Frames;
import org.leaderfollowers.simulation.Simulator;

/**
 * A pool that is started when no thread can be started, and again when threads can: it
 * must then serve a client.
 */
public final class LateStartWorkload implements Runnable {

	private static final long PATIENCE_NANOS = Duration.ofSeconds(10).toNanos();

	private final Simulator simulator;

	/** Creates the workload of a run. */
	public LateStartWorkload(Simulator simulator) {
		this.simulator = simulator;
	}

	@Override
	public void run() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder()
			.selectorProvider(this.simulator.network())
			.threads(1, 2)
			.build();
		this.simulator.failThreads(true);
		for (int i = 0; i < 2; i++) {
			try {
				pool.start();
				this.simulator.fail("a pool was started without a thread");
			}
			catch (IllegalStateException ex) {
				this.simulator.note("not started: " + ex);
			}
		}
		this.simulator.failThreads(false);
		TcpServer server = TcpServer.builder(pool)
			.port(0)
			.framing(Framing.line())
			.handler((connection, message) -> connection
				.send(SimulatedPeer.message(this.simulator, Frames.LINE, 'R', SimulatedPeer.number(message))))
			.build();
		server.start();
		SimulatedPeer peer = new SimulatedPeer(this.simulator, server.port(), Frames.LINE, "rr", false);
		boolean done = this.simulator.await("awaits the peer", () -> peer.isFinished() || peer.isAnswered(),
				this.simulator.nanoTime() + PATIENCE_NANOS);
		if (!done) {
			this.simulator.fail("the pool serves nobody: " + peer + this.simulator.describeThreads());
		}
		pool.close(Duration.ofSeconds(30));
	}

}
