package org.leaderfollowers.docs;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.annotation.LfHandler;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the guide shows does what the guide says.
 */
@SpringBootTest(properties = { "spring.config.import=classpath:further-server.yaml", "lf.server.port=0",
		"lf.servers.orders.port=0" }, classes = SnippetTests.Application.class)
class SnippetTests {

	private static final int TIMEOUT_MILLIS = 10_000;

	@Test
	void upperCaseHandlerAnswersInUpperCase(@Value("${local.lf.server.port}") int port) throws IOException {
		assertThat(exchange(port, "hello\n", 6)).isEqualTo("HELLO\n");
	}

	@Test
	void echoServerEchoes() throws IOException {
		TcpServer server = EchoServer.start(0);
		try (LeaderFollowersPool pool = server.pool()) {
			assertThat(pool.name()).isEqualTo("demo");
			assertThat(exchange(server.port(), "hello\n", 6)).isEqualTo("hello\n");
		}
	}

	@Test
	void ownFramingTellsMessagesApart(@Value("${local.lf.servers.devices.port}") int port) throws IOException {
		assertThat(exchange(port, "\u0002a\u0003\u0002bc\u0003", 7)).isEqualTo("\u0002a\u0003\u0002bc\u0003");
		assertThat(exchange(port, "a", 1)).as("refused").isEmpty();
	}

	@Test
	void furtherServerHasItsOwnFraming(@Value("${local.lf.servers.orders.port}") int port) throws IOException {
		assertThat(exchange(port, "\u0000\u0002ab", 4)).isEqualTo("\u0000\u0002ab");
	}

	private static String exchange(int port, String request, int replyLength) throws IOException {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
			socket.setSoTimeout(TIMEOUT_MILLIS);
			socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
			InputStream input = socket.getInputStream();
			return new String(input.readNBytes(replyLength), StandardCharsets.UTF_8);
		}
	}

	@SpringBootApplication
	static class Application {

		@Bean
		@LfHandler(server = "orders")
		MessageHandler orders() {
			return (connection, message) -> connection.send(message);
		}

	}

}
