package org.leaderfollowers;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.internal.transport.Certificates;
import org.leaderfollowers.internal.transport.ClientEngine;
import org.leaderfollowers.internal.transport.TlsWire;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The bytes of a server on the wire, when other threads send at the moment when the
 * connection is closed. Nothing follows close_notify, nothing is readable, and nothing
 * that was accepted is missing.
 */
@Timeout(120)
class CloseNotifyTests {

	private static final int ROUNDS = 5;

	private static final int SENDERS = 3;

	private static final String TEXT = "secret" + "x".repeat(1000);

	private static final int SMALL = 65_536;

	@RegisterExtension
	final Engine engine = new Engine();

	private final ExecutorService executor = Executors.newCachedThreadPool();

	@AfterEach
	void stop() {
		this.executor.shutdownNow();
	}

	/** A client that sees each record of the server. */
	private static final class Client implements Closeable {

		private final ClientEngine engine;

		private final Socket socket;

		private final TlsWire wire;

		Client(TcpServer server, String protocol) throws IOException {
			this.engine = new ClientEngine(Certificates.client(), protocol);
			this.socket = new Socket();
			this.socket.setReceiveBufferSize(SMALL);
			this.socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
			this.socket.setSoTimeout((int) Engine.DEADLINE.toMillis());
			this.socket.setTcpNoDelay(true);
			this.wire = new TlsWire(this.socket.getInputStream(), this.engine);
			this.engine.begin();
			while (this.engine.isHandshaking()) {
				byte[] flight = this.engine.speak();
				if (flight.length > 0) {
					send(flight);
				}
				else {
					assertThat(this.wire.hear()).isTrue();
				}
			}
		}

		void send(byte[] records) throws IOException {
			this.socket.getOutputStream().write(records);
		}

		@Override
		public void close() throws IOException {
			this.socket.close();
		}

	}

	/** How the end begins. */
	private enum End {

		CONNECTION, SERVER, EVACUATION;

		void begin(TcpServer server, Connection connection) {
			switch (this) {
				case CONNECTION -> connection.close();
				case SERVER -> server.close(Engine.DEADLINE);
				case EVACUATION -> server.evacuate(CloseRate.of("1000/s"));
			}
		}

	}

	@ParameterizedTest
	@EnumSource
	void nothingFollowsAlthoughOthersSendAtThatMoment(End end) throws Exception {
		nothingFollows("TLSv1.2", end);
		nothingFollows("TLSv1.3", end);
	}

	private void nothingFollows(String protocol, End end) throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		for (int round = 0; round < ROUNDS; round++) {
			AtomicInteger accepted = new AtomicInteger();
			Queue<Connection> connections = new ConcurrentLinkedQueue<>();
			CountDownLatch sent = new CountDownLatch(1 + round * SENDERS);
			TcpServer server = this.engine.start(TcpServer.builder(pool)
				.framing(Framing.line())
				.sendBufferSize(SMALL)
				.maxOutboundSize(2 * SMALL)
				.handler((connection, message) -> connections.add(connection))
				.tls(ServerTls.of(Certificates.server())));
			try (Client client = new Client(server, protocol)) {
				client.send(client.engine.say("begin\n"));
				Engine.eventually().until(() -> !connections.isEmpty());
				Connection connection = connections.element();
				List<CompletableFuture<Void>> tasks = new ArrayList<>();
				for (int i = 0; i < SENDERS; i++) {
					tasks.add(CompletableFuture.runAsync(() -> send(connection, accepted, sent), this.executor));
				}
				tasks.add(CompletableFuture.runAsync(() -> {
					Engine.pass(sent);
					if (end == End.CONNECTION) {
						// The client does not read yet.
						Engine.eventually()
							.until(() -> server.connections().anyMatch((open) -> open.pendingBytes() > 0));
					}
					end.begin(server, connection);
				}, this.executor));
				if (end == End.CONNECTION) {
					// The connection is closed, and bytes still wait.
					tasks.get(0).get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
				}
				client.wire.hearToTheEnd("secret");
				for (CompletableFuture<Void> task : tasks) {
					task.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
				}
				assertThat(client.engine.heard()).isEqualTo((TEXT + "\n").repeat(accepted.get()));
			}
			server.close();
		}
	}

	private static void send(Connection connection, AtomicInteger accepted, CountDownLatch sent) {
		while (true) {
			try {
				connection.send(Engine.bytes(TEXT));
				accepted.incrementAndGet();
				sent.countDown();
			}
			catch (SlowConsumerException ex) {
				Thread.onSpinWait();
			}
			catch (ConnectionClosedException ex) {
				return;
			}
		}
	}

}
