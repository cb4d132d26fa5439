package org.leaderfollowers.process;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Peer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/** A process that stands still for a while, as a virtual machine that is moved does. */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class StandstillTests {

	private static final int CLIENTS = 8;

	private final AtomicInteger answered = new AtomicInteger();

	private final AtomicBoolean enough = new AtomicBoolean();

	/** Sends requests one after the other, and never misses a reply. */
	private int converse(ServerProcess server) {
		int requests = 0;
		try (Peer peer = server.connect()) {
			while (!this.enough.get()) {
				String request = "request " + requests++;
				assertThat(peer.send(request + "\n").readLine()).isEqualTo(request);
				this.answered.incrementAndGet();
			}
		}
		return requests;
	}

	private void awaitAnswers(int more) {
		int target = this.answered.get() + more;
		Engine.eventually().until(() -> this.answered.get() >= target);
	}

	@Test
	void everyRequestIsAnsweredAfterwards() throws Exception {
		ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
		try (ServerProcess server = ServerProcess.of(LineProgram.class).start()) {
			Baseline before = server.baseline();
			List<Future<Integer>> conversations = new ArrayList<>();
			for (int i = 0; i < CLIENTS; i++) {
				conversations.add(clients.submit(() -> converse(server)));
			}
			try (Peer halfSent = server.connect()) {
				halfSent.send("ha");
				awaitAnswers(1000);
				server.signal("STOP");
				Engine.elapse(Duration.ofSeconds(20));
				halfSent.send("lf\n");
				server.signal("CONT");
				assertThat(halfSent.readLine()).isEqualTo("half");
			}
			awaitAnswers(1000);
			this.enough.set(true);
			for (Future<Integer> conversation : conversations) {
				assertThat(conversation.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isPositive();
			}
			server.assertReturnedTo(before);
		}
		finally {
			this.enough.set(true);
			clients.shutdownNow();
		}
	}

}
