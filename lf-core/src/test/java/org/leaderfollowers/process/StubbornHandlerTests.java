package org.leaderfollowers.process;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Peer;
import org.leaderfollowers.Server;

import static org.assertj.core.api.Assertions.assertThat;

/** Handlers that ignore interrupts for ever. */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class StubbornHandlerTests {

	private static final int EXIT_AFTER_SIGTERM = 128 + 15;

	/** Closes its pool when the process is told to end. */
	private static final class Stubborn extends LineProgram {

		private final AtomicInteger stubborn = new AtomicInteger();

		@Override
		public Server start() {
			Server server = super.start();
			Runtime.getRuntime().addShutdownHook(new Thread(() -> {
				boolean ended = server.pool().close(Duration.ofSeconds(1));
				System.out.println("all threads have ended: " + ended);
			}));
			return server;
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			if (Engine.text(message).equals("stubborn")) {
				this.stubborn.incrementAndGet();
				while (true) {
					LockSupport.park();
					Thread.interrupted();
				}
			}
			super.onMessage(connection, message);
		}

		@Override
		public Serializable answer(String question) throws Exception {
			return question.equals("stubborn") ? this.stubborn.get() : super.answer(question);
		}

	}

	@Test
	void theProcessEndsAllTheSame() throws Exception {
		List<Peer> peers = new ArrayList<>();
		try (ServerProcess server = ServerProcess.of(Stubborn.class).start(); Peer bystander = server.connect()) {
			for (int i = 0; i < LineProgram.MAX_THREADS - 1; i++) {
				peers.add(server.connect().send("stubborn\n"));
			}
			Engine.eventually().until(() -> server.ask("stubborn").equals(LineProgram.MAX_THREADS - 1));
			// One thread is left, which serves all others.
			server.probe();
			assertThat(bystander.send("still\n").readLine()).isEqualTo("still");
			server.signal("TERM");
			assertThat(bystander.readLine()).isNull();
			assertThat(server.process().waitFor(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
			assertThat(server.process().exitValue()).isEqualTo(EXIT_AFTER_SIGTERM);
			assertThat(server.output()).contains("all threads have ended: false");
		}
		finally {
			peers.forEach(Peer::close);
		}
	}

}
