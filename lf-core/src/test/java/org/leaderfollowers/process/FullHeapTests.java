package org.leaderfollowers.process;

import java.nio.ByteBuffer;
import java.util.Map;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.Connection;
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
		if (!Engine.text(message).equals("hold")) {
			connection.send(message.reset());
			return;
		}
		// Each step has been used before.
		connection.suspend().resume();
		connection.owe().close();
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

	@ParameterizedTest
	@ValueSource(classes = { Lines.class, Window.class })
	void aConnectionDoesNotWaitForWhatWasNotCreated(Class<? extends Program> program) {
		try (ServerProcess server = ServerProcess.of(program).jvm("-Xmx64m").start()) {
			ServerProcess.Baseline before = server.baseline();
			try (Peer peer = server.connect().send("hold\n")) {
				assertThat(peer.readLine()).isEqualTo("refused");
				// The server closes the connection as soon as nothing is owed.
				assertThat(peer.shutdownOutput().readLine()).isNull();
			}
			server.assertReturnedTo(before);
		}
	}

}
