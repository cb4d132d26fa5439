package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.leaderfollowers.simulation.SimulatedPeer;
import org.leaderfollowers.simulation.SimulatedPeer.Frames;
import org.leaderfollowers.simulation.Simulator;

/**
 * A server that fails to accept, and is paused before it tries again. If its leader
 * looked again and again meanwhile, the simulator would notice that it goes in circles.
 */
public final class HeldUpAcceptorWorkload implements Runnable {

	private static final long PATIENCE_NANOS = Duration.ofSeconds(30).toNanos();

	private final Simulator simulator;

	/** Creates the workload of a run. */
	public HeldUpAcceptorWorkload(Simulator simulator) {
		this.simulator = simulator;
	}

	@Override
	public void run() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder()
			.selectorProvider(this.simulator.network())
			.threads(1, 2)
			.build();
		TcpServer server = TcpServer.builder(pool)
			.port(0)
			.framing(Framing.line())
			.handler((connection, message) -> connection
				.send(SimulatedPeer.message(this.simulator, Frames.LINE, 'R', SimulatedPeer.number(message))))
			.build();
		server.start();
		this.simulator.beginFaults();
		this.simulator.network().failures(900, 0);
		List<SimulatedPeer> peers = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			peers.add(new SimulatedPeer(this.simulator, server.port(), Frames.LINE, "rr", false));
		}
		this.simulator.sleep(50_000_000);
		this.simulator.endFaults();
		server.pause();
		this.simulator.sleep(Duration.ofSeconds(10).toNanos());
		server.resume();
		boolean done = this.simulator.await("awaits the peers",
				() -> peers.stream().allMatch((peer) -> peer.isFinished() || (peer.isAnswered() && peer.fallsSilent())),
				this.simulator.nanoTime() + PATIENCE_NANOS);
		if (!done) {
			this.simulator.fail("not served: " + peers + this.simulator.describeThreads());
		}
		pool.close(Duration.ofSeconds(30));
	}

}
