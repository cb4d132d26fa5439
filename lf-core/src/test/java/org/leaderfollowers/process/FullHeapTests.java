package org.leaderfollowers.process;

import java.nio.ByteBuffer;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.Connection;
import org.leaderfollowers.DatagramPeer;
import org.leaderfollowers.Engine;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.Peer;
import org.leaderfollowers.Suspension;
import org.leaderfollowers.TcpServer;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A handler whose heap is used up can neither suspend a connection nor owe it a reply.
 * What it has not got, it cannot end, so nothing may wait for it.
 */
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class FullHeapTests {

	private static void hold(Connection connection, ByteBuffer message) {
		switch (Engine.text(message)) {
			case "use" -> {
				connection.suspend().resume();
				connection.owe().close();
				connection.send(Engine.bytes("used"));
			}
			case "hold" -> holdWithoutMemory(connection);
			default -> connection.send(message.reset());
		}
	}

	private static void holdWithoutMemory(Connection connection) {
		while (!isRefusedWithoutMemory(connection)) {
			// The collector found memory after the heap had been filled.
		}
		connection.send(Engine.bytes("refused"));
	}

	/**
	 * Whether both have failed. What has been created is ended as soon as there is
	 * memory.
	 */
	private static boolean isRefusedWithoutMemory(Connection connection) {
		Suspension[] suspension = new Suspension[1];
		OwedReply[] owed = new OwedReply[1];
		Map<Integer, Throwable> failures = FirstUseTests.Full.withoutMemory(() -> suspension[0] = connection.suspend(),
				() -> owed[0] = connection.owe());
		if (suspension[0] != null) {
			suspension[0].resume();
		}
		if (owed[0] != null) {
			owed[0].close();
		}
		return failures.size() == 2;
	}

	/** One message at a time. */
	private static class Lines extends LineProgram {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			hold(connection, message);
		}

	}

	/** Several messages of a connection at a time. */
	private static final class Window extends Lines {

		@Override
		void configure(TcpServer.Builder builder) {
			builder.maxInFlightPerConnection(4);
		}

	}

	/** Datagrams. */
	private static final class Datagrams extends DatagramProgram {

		@Override
		public void onMessage(Connection datagram, ByteBuffer message) {
			hold(datagram, message);
		}

	}

	@Test
	void aServerDoesNotWaitForDatagramsThatWereNotSuspended() {
		try (ServerProcess server = ServerProcess.of(Datagrams.class).jvm("-Xmx64m").start()) {
			ServerProcess.Baseline before = server.baseline();
			try (DatagramPeer peer = new DatagramPeer(server.address())) {
				// Of another datagram: one that was suspended before would time out.
				assertThat(peer.send("use").receive()).isEqualTo("used");
				assertThat(peer.send("hold").receive()).isEqualTo("refused");
			}
			Engine.eventually().untilAsserted(() -> assertThat(server.ask("in flight")).isEqualTo(0));
			server.assertReturnedTo(before);
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { Lines.class, Window.class })
	void aConnectionDoesNotWaitForWhatWasNotCreated(Class<? extends Program> program) {
		try (ServerProcess server = ServerProcess.of(program).jvm("-Xmx64m").start()) {
			ServerProcess.Baseline before = server.baseline();
			try (Peer peer = server.connect().send("use\n")) {
				assertThat(peer.readLine()).isEqualTo("used");
				peer.send("hold\n");
				assertThat(peer.readLine()).isEqualTo("refused");
				// The server closes the connection as soon as nothing is owed.
				assertThat(peer.shutdownOutput().readLine()).isNull();
			}
			server.assertReturnedTo(before);
		}
	}

}
