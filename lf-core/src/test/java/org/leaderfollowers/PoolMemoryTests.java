package org.leaderfollowers;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.List;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/** A pool that outlives its servers and clients must keep nothing of them. */
@Timeout(60)
class PoolMemoryTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private LeaderFollowersPool pool;

	private LeaderFollowersPool other;

	/** Its only purpose is that it can be collected: others may be constants. */
	private static final class Echo implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			connection.send(message);
		}

	}

	@BeforeEach
	void pools() {
		this.pool = this.engine.pool(1, 2);
		this.other = this.engine.pool(1, 2);
	}

	private void awaitCollected(WeakReference<?> handler) {
		Engine.awaitCollected(handler);
		assertThat(this.pool.snapshot().state()).isEqualTo(PoolSnapshot.State.RUNNING);
	}

	@Test
	void ofATcpServer() {
		closedServer().forEach(this::awaitCollected);
	}

	/** Its handler, and what the memory budgets of both pools know of it. */
	private List<WeakReference<?>> closedServer() {
		Echo handler = new Echo();
		TcpServer server = TcpServer.builder(this.pool)
			.framing(Framing.line())
			.handler(handler)
			.port(0)
			.serviceClass((connection, message) -> this.other.name(), this.other)
			.build();
		server.start();
		assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		return List.of(new WeakReference<>(handler), new WeakReference<>(server.life.context().registry()));
	}

	@Test
	void ofAUdpServer() throws Exception {
		this.pool.start();
		awaitCollected(closedUdpServer());
	}

	private WeakReference<?> closedUdpServer() throws Exception {
		Echo handler = new Echo();
		UdpServer server = UdpServer.builder(this.pool).port(0).handler(handler).build();
		server.start();
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.ask("x")).isEqualTo("x");
		}
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		return new WeakReference<>(handler);
	}

	@Test
	void ofAClient() {
		TcpServer server = this.engine.lines(this.other, Connection::send);
		awaitCollected(closedClient(server));
	}

	private WeakReference<?> closedClient(TcpServer server) {
		Echo handler = new Echo();
		TcpClient client = TcpClient.builder(this.pool)
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.address(server.address())
			.handler(handler)
			.build();
		client.start();
		assertThat(Engine.text(client.exchange(Engine.bytes("x")))).isEqualTo("x");
		client.close();
		return new WeakReference<>(handler);
	}

}
