package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.transport.PlainTransport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link ConnectionRegistry}.
 */
class ConnectionRegistryTests {

	@RegisterExtension
	final Engine engine = new Engine();

	/** {@code ConcurrentHashMap} counts its entries last, and may need memory for it. */
	@Test
	void connectionIsRemovedOnceAlthoughTheMapFailsAfterwards() throws IOException {
		ConnectionRegistry registry = new ConnectionRegistry(() -> {
		}, new ConcurrentHashMap<>() {

			@Override
			public TcpConnection remove(Object key) {
				super.remove(key);
				throw new OutOfMemoryError("injected");
			}

		});
		try (SocketChannel channel = SocketChannel.open()) {
			TcpConnection connection = connection(channel);
			registry.add(connection);
			registry.name(connection, "named");
			assertThat(registry.remove(connection)).isTrue();
			assertThat(registry.get("named")).isNull();
			assertThat(registry.remove(connection)).isFalse();
		}
	}

	@Test
	void connectionStaysIfTheMapCannotRemoveIt() throws IOException {
		ConnectionRegistry registry = new ConnectionRegistry(() -> {
		}, new ConcurrentHashMap<>() {

			@Override
			public TcpConnection remove(Object key) {
				throw new OutOfMemoryError("injected");
			}

		});
		try (SocketChannel channel = SocketChannel.open()) {
			TcpConnection connection = connection(channel);
			registry.add(connection);
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> registry.remove(connection));
			assertThat(registry.all()).containsExactly(connection);
		}
	}

	@Test
	void connectionIsNotRegisteredIfTheMapFailsAfterwards() throws IOException {
		ConnectionRegistry registry = new ConnectionRegistry(() -> {
		}, new ConcurrentHashMap<>() {

			@Override
			public TcpConnection put(Object key, TcpConnection value) {
				super.put(key, value);
				throw new OutOfMemoryError("injected");
			}

		});
		try (SocketChannel channel = SocketChannel.open()) {
			TcpConnection connection = connection(channel);
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> registry.add(connection));
			assertThat(registry.all()).isEmpty();
			assertThat(registry.open()).isZero();
		}
	}

	@Test
	void nameThatIsGivenWhileTheConnectionIsRemovedIsRemovedToo() throws IOException {
		AtomicReference<ConnectionRegistry> registry = new AtomicReference<>();
		registry.set(new ConnectionRegistry(() -> {
		}, new ConcurrentHashMap<>() {

			@Override
			public TcpConnection remove(Object key) {
				registry.get().name((TcpConnection) key, "late");
				return super.remove(key);
			}

		}));
		try (SocketChannel channel = SocketChannel.open()) {
			TcpConnection connection = connection(channel);
			registry.get().add(connection);
			registry.get().name(connection, "early");
			assertThat(registry.get().remove(connection)).isTrue();
			assertThat(registry.get().get("early")).isNull();
			assertThat(registry.get().get("late")).isNull();
		}
	}

	@Test
	void counts() throws IOException {
		ConnectionRegistry registry = new ConnectionRegistry(() -> {
		});
		try (SocketChannel channel = SocketChannel.open()) {
			TcpConnection connection = connection(channel);
			registry.add(connection);
			assertThat(registry.open()).isEqualTo(1);
			assertThat(registry.remove(connection)).isTrue();
			registry.closed(CloseReason.PEER);
			registry.rejected();
		}
		assertThat(registry.open()).isZero();
		assertThat(registry.acceptedConnections()).isEqualTo(1);
		assertThat(registry.rejectedConnections()).isEqualTo(1);
		assertThat(registry.closedConnections()).containsEntry(CloseReason.PEER, 1L);
	}

	/** A connection that no server has accepted. */
	private TcpConnection connection(SocketChannel channel) {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 1))
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message)));
		InetSocketAddress remote = new InetSocketAddress(1);
		return new TcpConnection(server.life.context(), channel, new PlainTransport(channel), null, remote);
	}

}
