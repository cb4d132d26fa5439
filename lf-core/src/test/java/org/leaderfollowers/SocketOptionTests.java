package org.leaderfollowers;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.NetworkChannel;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the options of the sockets of a server and of a client, read back from both
 * ends of a connection.
 */
@Timeout(180)
class SocketOptionTests {

	@RegisterExtension
	private final Engine engine = new Engine();

	private final CompletableFuture<NetworkChannel> accepted = new CompletableFuture<>();

	private final CompletableFuture<NetworkChannel> connected = new CompletableFuture<>();

	private TcpServer.Builder server() {
		return TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.line()).handler(noting(this.accepted));
	}

	private TcpClient.Builder client(TcpServer server) {
		return TcpClient.builder(server.pool())
			.name("there")
			.address(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.handler(noting(this.connected));
	}

	private static MessageHandler noting(CompletableFuture<NetworkChannel> channel) {
		return new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				channel.complete((NetworkChannel) ((TcpConnection) connection).handle.channel());
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.send(message);
			}

		};
	}

	private static <T> T option(CompletableFuture<NetworkChannel> channel, SocketOption<T> option) throws Exception {
		return channel.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS).getOption(option);
	}

	private void connect(TcpClient.Builder builder) throws Exception {
		TcpClient client = builder.build();
		client.start();
		try {
			assertThat(Engine.text(client.exchange(Engine.bytes("hello"), Engine.DEADLINE))).isEqualTo("hello");
			this.connected.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		}
		catch (Exception | AssertionError ex) {
			client.close(Duration.ZERO);
			throw ex;
		}
	}

	@Test
	void withoutAnyOptionNeitherSideWaitsToFillASegmentAndBothKeepAlive() throws Exception {
		TcpServer server = this.engine.start(server());
		connect(client(server));
		assertThat(option(this.accepted, StandardSocketOptions.TCP_NODELAY)).isTrue();
		assertThat(option(this.accepted, StandardSocketOptions.SO_KEEPALIVE)).isTrue();
		assertThat(option(this.connected, StandardSocketOptions.TCP_NODELAY)).isTrue();
		assertThat(option(this.connected, StandardSocketOptions.SO_KEEPALIVE)).isTrue();
	}

	@Test
	void optionsOfAServerAreThoseOfItsConnections() throws Exception {
		TcpServer server = this.engine
			.start(server().tcpNoDelay(false).keepAlive(false).receiveBufferSize(20_000).sendBufferSize(30_000));
		connect(client(server));
		assertThat(option(this.accepted, StandardSocketOptions.TCP_NODELAY)).isFalse();
		assertThat(option(this.accepted, StandardSocketOptions.SO_KEEPALIVE)).isFalse();
		assertThat(option(this.accepted, StandardSocketOptions.SO_RCVBUF)).isBetween(20_000, 60_000);
		assertThat(option(this.accepted, StandardSocketOptions.SO_SNDBUF)).isBetween(30_000, 90_000);
		assertThat(option(this.connected, StandardSocketOptions.TCP_NODELAY)).isTrue();
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	void optionsOfAClientAreThoseOfItsConnections() throws Exception {
		TcpServer server = this.engine.start(server());
		connect(client(server).tcpNoDelay(false).keepAlive(false).receiveBufferSize(20_000).sendBufferSize(30_000));
		assertThat(option(this.connected, StandardSocketOptions.TCP_NODELAY)).isFalse();
		assertThat(option(this.connected, StandardSocketOptions.SO_KEEPALIVE)).isFalse();
		assertThat(option(this.connected, StandardSocketOptions.SO_RCVBUF)).isBetween(20_000, 60_000);
		assertThat(option(this.connected, StandardSocketOptions.SO_SNDBUF)).isBetween(30_000, 90_000);
		assertThat(option(this.accepted, StandardSocketOptions.TCP_NODELAY)).isTrue();
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	void sizesThatTheSystemLimitsAreLoggedOnce() throws Exception {
		TcpServer server = this.engine.start(server().receiveBufferSize(1 << 30).sendBufferSize(1 << 30));
		assertThat(this.engine.log()).hasSize(2)
			.allSatisfy((line) -> assertThat(line).contains("Server 'default'", "1073741824", "limit of the system"))
			.anySatisfy((line) -> assertThat(line).contains("receiveBufferSize"))
			.anySatisfy((line) -> assertThat(line).contains("sendBufferSize"));
		connect(client(server).sendBufferSize(1 << 30).connections(2));
		assertThat(this.engine.log()).hasSize(3).last().asString().contains("Client 'there'", "sendBufferSize");
	}

	@Test
	@EnabledOnOs(OS.LINUX)
	void tryingTheSizesLeavesNoDescriptorOpen() {
		TcpSocketOptions sizes = new TcpSocketOptions(true, false, 1024, 1024);
		sizes.warnOfLimits("first");
		long descriptors = Engine.descriptors();
		for (int i = 0; i < 100; i++) {
			sizes.warnOfLimits("again");
		}
		assertThat(Engine.descriptors()).isLessThan(descriptors + 50);
	}

}
