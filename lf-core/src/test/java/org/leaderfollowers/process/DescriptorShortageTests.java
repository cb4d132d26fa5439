package org.leaderfollowers.process;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Peer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/** A process that gets no more descriptors from the system. */
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class DescriptorShortageTests {

	private static final int PEERS = 100;

	private static final int LEAVING = 10;

	@Test
	void othersAreServedAndAcceptingResumesWithoutHelp() {
		List<Peer> peers = new ArrayList<>();
		try (ServerProcess server = ServerProcess.of(LineProgram.class).start()) {
			Baseline before = server.baseline();
			server.limit("--nofile=%d:".formatted(server.descriptors() + PEERS / 2));
			for (int i = 0; i < PEERS; i++) {
				// All are connected by the system.
				peers.add(server.connect().send("hello\n"));
			}
			Engine.eventually().until(() -> server.state().acceptingSuspended());
			int served = server.state().openConnections();
			assertThat(served).isBetween(PEERS / 4, PEERS / 2 + 5);
			for (int i = 0; i < served; i++) {
				assertThat(peers.get(i).readLine()).isEqualTo("hello");
			}
			// The compiler may still be at work in the first period.
			Engine.eventually().untilAsserted(() -> assertThat(server.idleCpu()).isLessThan(ServerProcess.IDLE_CPU));
			for (int i = 0; i < served; i++) {
				assertThat(peers.get(i).send("still\n").readLine()).isEqualTo("still");
			}
			// Those who leave make room for others.
			for (int i = 0; i < LEAVING; i++) {
				peers.get(i).close();
			}
			for (int i = served; i < served + LEAVING; i++) {
				assertThat(peers.get(i).readLine()).isEqualTo("hello");
			}
			// Then nobody connects or leaves.
			server.limit("--nofile=4096:");
			for (int i = served + LEAVING; i < PEERS; i++) {
				assertThat(peers.get(i).readLine()).isEqualTo("hello");
			}
			peers.forEach(Peer::close);
			server.assertReturnedTo(before);
			assertThat(server.output().lines()).filteredOn((line) -> line.contains("cannot accept connections now"))
				.as(server::output)
				.hasSize(1);
		}
		finally {
			peers.forEach(Peer::close);
		}
	}

}
