package org.leaderfollowers.process;

import java.io.Serializable;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.DatagramPeer;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.Peer;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TlsPeer;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Handlers, and other threads of the application, call the engine until their stack
 * overflows, at every distance from its end. The engine is not cut off in the middle: no
 * lock stays held, no request to the leader is lost, and each connection is closed.
 */
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class OverflowProcessTests {

	private static final int ROUNDS = 20;

	/** Calls the engine from ever deeper frames. */
	private static class Deep implements Program, MessageHandler {

		@Override
		public Server start() {
			LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(4, 4).build();
			Server server = server(pool);
			server.start();
			return server;
		}

		Server server(LeaderFollowersPool pool) {
			return builder(pool).build();
		}

		final TcpServer.Builder builder(LeaderFollowersPool pool) {
			return TcpServer.builder(pool)
				.address(InetAddress.getLoopbackAddress())
				.port(0)
				.framing(Framing.line())
				.handler(this);
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws InterruptedException {
			switch (Engine.text(message)) {
				case "sends" -> descend(() -> connection.send(Engine.bytes("x")), 0);
				case "swallows" -> {
					swallow(() -> connection.send(Engine.bytes("x")));
					swallow(() -> connection.send(Engine.bytes("x")));
				}
				case "owes" -> {
					swallow(() -> {
						try (OwedReply owed = connection.owe()) {
							owed.send(Engine.bytes("x"));
						}
					});
					connection.close();
				}
				case "suspends" -> {
					swallow(() -> connection.suspend().resume());
					connection.close();
				}
				case "closes" -> swallow(connection::close);
				case "other thread" -> {
					OwedReply owed = connection.owe();
					Thread thread = new Thread(() -> {
						swallow(() -> connection.send(Engine.bytes("x")));
						owed.close();
					});
					thread.start();
				}
				default -> connection.send(message.reset());
			}
		}

		private static void swallow(Runnable action) {
			try {
				descend(action, ThreadLocalRandom.current().nextInt(8));
			}
			catch (StackOverflowError ex) {
				// As a parser of nested input does.
			}
		}

		/** Frames of different sizes meet the end of the stack at different distances. */
		private static long descend(Runnable action, long depth) {
			action.run();
			long a = depth + 1;
			return ((a & 7) == 0) ? descendFar(action, a, a + 1, a + 2, a + 3) + a : descend(action, a) + 1;
		}

		private static long descendFar(Runnable action, long a, long b, long c, long d) {
			action.run();
			return descend(action, a + 1) + b + c + d;
		}

	}

	/** The same with TLS, which calls more methods to write. */
	private static final class DeepTls extends Deep {

		@Override
		Server server(LeaderFollowersPool pool) {
			return builder(pool).tls(ServerTls.of(Certificates.server())).build();
		}

		@Override
		public Serializable answer(String question) {
			return Certificates.CA.getRootCertificate();
		}

	}

	/** The same with datagrams. */
	private static final class DeepDatagrams extends Deep {

		@Override
		Server server(LeaderFollowersPool pool) {
			return UdpServer.builder(pool)
				.address(InetAddress.getLoopbackAddress())
				.port(0)
				.maxReplyRate(0)
				.handler(this)
				.build();
		}

	}

	@Tag("stress")
	@ParameterizedTest
	@ValueSource(strings = { "sends", "swallows", "owes", "suspends", "closes", "other thread" })
	void theEngineIsNotCutOffByAnOverflow(String how) {
		overflow(Deep.class, how, (server) -> {
			try (Peer peer = server.connect().send(how + "\n").shutdownOutput()) {
				peer.readToEnd();
			}
		});
	}

	@Tag("stress")
	@ParameterizedTest
	@ValueSource(strings = { "sends", "swallows", "owes", "suspends", "closes", "other thread" })
	void theEngineIsNotCutOffByAnOverflowWithTls(String how) {
		overflow(DeepTls.class, how, (server) -> {
			try (TlsPeer peer = new TlsPeer(server.clientContext(), server.port()).send(how + "\n")) {
				peer.shutdownOutput();
				assertThat(Stream.generate(peer::readLine).takeWhile(Objects::nonNull)).allMatch("x"::equals);
			}
		});
	}

	private static void overflow(Class<? extends Program> program, String how, Consumer<ServerProcess> client) {
		try (ServerProcess server = ServerProcess.of(program).jvm("-Xmx128m").start()) {
			ServerProcess.Baseline before = server.baseline();
			for (int i = 0; i < ROUNDS; i++) {
				try {
					client.accept(server);
				}
				catch (UncheckedIOException ex) {
					assertThat(ex).as("neither served nor closed")
						.cause()
						.isNotInstanceOf(SocketTimeoutException.class);
				}
				server.probe();
			}
			server.assertReturnedTo(before);
			if (how.equals("sends")) {
				assertThat(server.state().closedConnections()).containsEntry(CloseReason.HANDLER_ERROR, (long) ROUNDS);
			}
		}
	}

	@Tag("stress")
	@ParameterizedTest
	@ValueSource(strings = { "sends", "swallows", "owes", "suspends", "closes", "other thread" })
	void theEngineIsNotCutOffByAnOverflowWithDatagrams(String how) {
		try (ServerProcess server = ServerProcess.of(DeepDatagrams.class).jvm("-Xmx128m").start();
				DatagramPeer peer = new DatagramPeer(server.address())) {
			ServerProcess.Baseline before = server.baseline();
			for (int i = 0; i < ROUNDS; i++) {
				peer.send(how);
				server.probe();
			}
			server.assertReturnedTo(before);
		}
	}

	/** The first overflow may hit a class that is being initialised. */
	@ParameterizedTest
	@ValueSource(strings = { "sends", "closes" })
	void aClassIsNotLostToTheFirstOverflow(String how) {
		try (ServerProcess server = ServerProcess.of(Deep.class).jvm("-Xmx128m").start()) {
			try (Peer peer = server.connect().send(how + "\n").shutdownOutput()) {
				peer.readToEnd();
			}
			server.assertReturnedTo(server.baseline());
		}
	}

}
