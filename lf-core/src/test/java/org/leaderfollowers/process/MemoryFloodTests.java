package org.leaderfollowers.process;

import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;

import javax.net.ssl.SSLContext;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Framing;
import org.leaderfollowers.Peer;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TlsPeer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Peers that would need several times the heap of 64 MB if the server let them, while
 * honest clients send each message in two segments.
 */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class MemoryFloodTests {

	/** In a server without a limit, they would hold 96 MB. */
	private static final int HANDSHAKES = 2000;

	/**
	 * Together they would hold 16 MB, and all connections may hold a quarter of the heap.
	 */
	private static final int UNFINISHED = 256;

	/** The least number of messages of a client. */
	private static final int MESSAGES = 500;

	/** If the server believed them, they would hold 160 GB. */
	private static final int PROMISES = 10_000;

	private static final int LARGEST = 16 * 1024 * 1024;

	/** The connection itself, and the first bytes of its message. */
	private static final int BYTES_PER_PROMISE = 2500;

	/** Has room for the whole flood in its backlog. */
	private static final class Encrypted extends LineProgram.Tls {

		@Override
		void configure(TcpServer.Builder builder) {
			super.configure(builder);
			builder.backlog(2 * HANDSHAKES);
		}

	}

	/** Frames that may be large, with a length of four bytes, and time for them. */
	private static final class Frames extends LineProgram {

		private TcpServer server;

		@Override
		public Server start() {
			this.server = (TcpServer) super.start();
			return this.server;
		}

		@Override
		void configure(TcpServer.Builder builder) {
			builder.framing(Framing.lengthField(4))
				.maxMessageSize(LARGEST)
				.messageTimeout(Duration.ofMinutes(5))
				.maxConnections(20_000);
		}

		@Override
		public Serializable answer(String question) {
			return this.server.snapshot().receivedBytes();
		}

	}

	private ServerProcess server;

	private Baseline before;

	private void start(Class<? extends Program> program) {
		this.server = ServerProcess.of(program).start();
		this.before = this.server.baseline();
	}

	@AfterEach
	void stop() {
		this.server.close();
	}

	@Test
	void clientsAreServedBesideTwoThousandHandshakesThatDoNotEnd() throws Exception {
		start(Encrypted.class);
		SSLContext context = this.server.clientContext();
		try (TlsPeer client = new TlsPeer(context, this.server.port())) {
			client.shakeHands();
			try (Flood flood = new Flood(this.server.address(), HANDSHAKES, greeting())) {
				awaitShedding();
				// An established client loses no message.
				assertServed(client::send, client::readLine, flood, HANDSHAKES);
				// The handshake of a new client may be cut off, as it holds as much.
				Engine.eventually().ignoreExceptions().until(() -> {
					try (TlsPeer next = new TlsPeer(context, this.server.port())) {
						return next.send("probe\n").readLine().equals("probe");
					}
				});
			}
		}
		this.server.assertReturnedTo(this.before);
	}

	/**
	 * All but the end of the largest ClientHello that the JDK accepts, in two records.
	 */
	private static byte[] greeting() {
		ByteBuffer bytes = ByteBuffer.allocate(5 + 16_000 + 5 + 15_800);
		bytes.put((byte) 22).putShort((short) 0x0301).putShort((short) 16_000);
		bytes.putInt((1 << 24) | 32_700).putShort((short) 0x0303);
		bytes.position(5 + 16_000).put((byte) 22).putShort((short) 0x0301).putShort((short) 15_800);
		return bytes.array();
	}

	@Test
	void everyClientIsServedBesideMessagesThatDoNotEnd() throws Exception {
		start(LineProgram.class);
		try (Peer client = this.server.connect()) {
			assertThat(client.send("probe\n").readLine()).isEqualTo("probe");
			try (Flood flood = new Flood(this.server.address(), UNFINISHED, new byte[60_000])) {
				awaitShedding();
				assertServed(client::send, client::readLine, flood, 2 * UNFINISHED);
				// New clients wait until they are accepted, and are served then.
				for (int i = 0; i < 5; i++) {
					try (Peer next = this.server.connect()) {
						assertServed(next::send, next::readLine, flood, 0);
					}
				}
			}
		}
		this.server.assertReturnedTo(this.before);
	}

	@Test
	void tenThousandPromisedLengthsCostNoMemory() throws Exception {
		start(Frames.class);
		long received = (long) this.server.ask("received");
		byte[] head = ByteBuffer.allocate(5).putInt(LARGEST).put((byte) 'x').array();
		try (Flood flood = new Flood(this.server.address(), PROMISES, head)) {
			Engine.eventually()
				.until(() -> (long) this.server.ask("received") == received + (long) PROMISES * head.length);
			assertThat(flood.opened()).isEqualTo(PROMISES);
			ProcessState state = this.server.state();
			assertThat(state.openConnections()).isEqualTo(PROMISES);
			assertThat(state.bufferedBytes()).isLessThanOrEqualTo(PROMISES * 64L);
			assertThat((state.heapBytes() - this.before.state().heapBytes()) / PROMISES).isLessThan(BYTES_PER_PROMISE);
			this.server.probe();
		}
		this.server.assertReturnedTo(this.before);
	}

	private void awaitShedding() {
		Engine.eventually().until(() -> this.server.state().closedConnections().containsKey(CloseReason.OVERLOADED));
	}

	/**
	 * Sends messages, each of which has arrived in part when its second segment is sent:
	 * the segment that ends a message begins the next one.
	 */
	private static void assertServed(Consumer<String> send, Supplier<String> reply, Flood flood, int connections)
			throws IOException {
		send.accept("begins and ");
		for (int i = 0; i < MESSAGES || flood.opened() < connections; i++) {
			send.accept("ends\nbegins and ");
			assertThat(reply.get()).isEqualTo("begins and ends");
		}
		send.accept("ends\n");
		assertThat(reply.get()).isEqualTo("begins and ends");
	}

}
