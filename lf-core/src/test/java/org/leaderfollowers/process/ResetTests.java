package org.leaderfollowers.process;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;

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
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Peers that reset their connections at each step of a connection's life, many at a time.
 */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class ResetTests {

	private static final int PEERS = 300;

	/** Frames with a length of four bytes, so that there is a header to cut. */
	private static final class Frames extends LineProgram {

		@Override
		void configure(TcpServer.Builder builder) {
			builder.framing(Framing.lengthField(4)).maxMessageSize(100_000);
		}

	}

	private final List<Peer> peers = new ArrayList<>();

	private ServerProcess server;

	private Baseline before;

	private void start(Class<? extends Program> program) {
		this.server = ServerProcess.of(program).start();
		this.before = this.server.baseline();
	}

	@AfterEach
	void stop() {
		this.peers.forEach(Peer::close);
		this.server.close();
	}

	private void connect(Consumer<Peer> step) {
		connect(PEERS, step);
	}

	private void connect(int count, Consumer<Peer> step) {
		for (int i = 0; i < count; i++) {
			Peer peer = this.server.connect();
			this.peers.add(peer);
			step.accept(peer);
		}
	}

	private void reset() {
		this.peers.forEach(Peer::reset);
		this.peers.clear();
	}

	@Test
	void beforeAccept() {
		start(LineProgram.class);
		this.server.signal("STOP");
		connect((peer) -> peer.send("probe\n"));
		reset();
		this.server.signal("CONT");
		this.server.assertReturnedTo(this.before);
	}

	@Test
	void atOnceAndWithinLines() {
		start(LineProgram.class);
		connect(Peer::reset);
		connect((peer) -> peer.send("pro").reset());
		connect((peer) -> peer.send("probe\n".repeat(10) + "pro").reset());
		connect((peer) -> {
			assertThat(peer.send("probe\npro").readLine()).isEqualTo("probe");
			peer.reset();
		});
		this.server.assertReturnedTo(this.before);
	}

	@Test
	void withinHeadersAndBodies() {
		start(Frames.class);
		byte[] frame = { 0, 0, 1, 0, 'p', 'r', 'o', 'b', 'e' };
		for (int length = 1; length <= frame.length; length++) {
			int cut = length;
			connect((peer) -> peer.send(frame, 0, cut).reset());
		}
		this.server.assertReturnedTo(this.before);
	}

	@Test
	void withinTheTlsHandshake() throws SSLException {
		start(LineProgram.Tls.class);
		SSLEngine engine = this.server.clientContext().createSSLEngine();
		engine.setUseClientMode(true);
		ByteBuffer record = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
		engine.wrap(ByteBuffer.allocate(0), record);
		byte[] hello = new byte[record.flip().remaining()];
		record.get(hello);
		for (int length : new int[] { 1, 5, 6, hello.length / 2, hello.length - 1 }) {
			connect(PEERS / 5, (peer) -> peer.send(hello, 0, length).reset());
		}
		// Some while the server computes its keys, and some after its reply.
		connect(PEERS / 5, (peer) -> peer.send(hello).reset());
		connect(PEERS / 5, (peer) -> {
			peer.send(hello).read(5);
			peer.reset();
		});
		this.server.assertReturnedTo(this.before);
	}

	@Test
	void whileHandlersRun() {
		start(LineProgram.class);
		connect((peer) -> peer.send("wait\nprobe\n"));
		// All other connections wait for a thread.
		Engine.eventually().until(() -> this.server.ask("waiting").equals(LineProgram.MAX_THREADS));
		reset();
		this.server.ask("release");
		this.server.assertReturnedTo(this.before);
	}

	@Test
	void whileRepliesWaitForThePeer() {
		start(LineProgram.class);
		for (int i = 0; i < 50; i++) {
			this.peers.add(this.server.connect(4096).send("large\nlarge\n"));
		}
		Engine.eventually().until(() -> this.server.state().bufferedBytes() > 0);
		reset();
		this.server.assertReturnedTo(this.before);
	}

	@Test
	void whileTheServerWaitsForTheEndOfThePeer() {
		start(LineProgram.class);
		connect((peer) -> {
			assertThat(peer.send("bye\n").readLine()).isEqualTo("bye");
			assertThat(peer.readLine()).isNull();
		});
		reset();
		this.server.assertReturnedTo(this.before);
		assertThat(this.server.state().closedConnections()).containsEntry(CloseReason.LOCAL, (long) PEERS);
	}

	@Test
	void afterTheEndOfTheirOutput() {
		start(LineProgram.class);
		connect((peer) -> peer.shutdownOutput().reset());
		connect((peer) -> peer.send("probe\npro").shutdownOutput().reset());
		this.peers.clear();
		connect((peer) -> peer.send("wait\n").shutdownOutput());
		Engine.eventually().until(() -> this.server.ask("waiting").equals(LineProgram.MAX_THREADS));
		reset();
		this.server.ask("release");
		this.server.assertReturnedTo(this.before);
	}

}
