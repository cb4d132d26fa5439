package org.leaderfollowers.process;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Peer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/** A process that gets no more threads from the system. */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class ThreadShortageTests {

	/** More than the pool may have. */
	private static final int BLOCKED = LineProgram.MAX_THREADS + 3;

	private final List<Peer> peers = new ArrayList<>();

	private void block(ServerProcess server) {
		for (int i = 0; i < BLOCKED; i++) {
			this.peers.add(server.connect().send("wait\n"));
		}
	}

	@Test
	void threadsThatReturnServeTheRest() {
		try (ServerProcess server = ServerProcess.of(LineProgram.class).asOtherUser().start()) {
			Baseline before = server.baseline();
			server.limit("--nproc=%d:".formatted(server.nativeThreads()));
			block(server);
			Engine.eventually().until(() -> server.state().threadStartFailures() > 0);
			Engine.eventually().until(() -> (int) server.ask("waiting") > 0);
			assertThat((int) server.ask("waiting")).isLessThan(LineProgram.MAX_THREADS);
			server.ask("release");
			for (Peer peer : this.peers) {
				assertThat(peer.readLine()).isEqualTo("wait");
				peer.close();
			}
			server.assertReturnedTo(before);
			// The log has a thread of its own, which could not be started either.
			server.limit("--nproc=1000:");
			Engine.eventually().until(() -> server.output().contains("A thread could not be started"));
		}
	}

	@Test
	void thePoolGrowsWhenTheSystemHasThreadsAgain() {
		try (ServerProcess server = ServerProcess.of(LineProgram.class).asOtherUser().start()) {
			Baseline before = server.baseline();
			server.limit("--nproc=%d:".formatted(server.nativeThreads()));
			block(server);
			Engine.eventually().until(() -> server.state().threadStartFailures() > 0);
			server.limit("--nproc=1000:");
			// No handler returns, so only the watchdog can start them.
			Engine.eventually().until(() -> server.ask("waiting").equals(LineProgram.MAX_THREADS));
			assertThat(server.ask("unstarted")).as("threads that are kept").isEqualTo(0);
			server.ask("release");
			for (Peer peer : this.peers) {
				assertThat(peer.readLine()).isEqualTo("wait");
				peer.close();
			}
			server.assertReturnedTo(before);
		}
	}

}
