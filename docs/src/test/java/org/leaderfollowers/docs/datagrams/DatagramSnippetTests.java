package org.leaderfollowers.docs.datagrams;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.Suspension;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;

/** The examples of the chapter about datagrams behave as the chapter says. */
@SpringBootTest(
		properties = { "spring.config.location=classpath:udp.yaml", "lf.servers.readings.port=0",
				"lf.servers.names.transport=udp", "lf.servers.names.port=0" },
		classes = DatagramSnippetTests.Application.class)
class DatagramSnippetTests {

	@Autowired
	private LeaderFollowersServers servers;

	@Autowired
	private ReadingHandler readings;

	@Test
	void readingsAreAcknowledged() throws IOException {
		byte[] reading = ByteBuffer.allocate(12).putInt(7).putLong(42).array();
		assertThat(ask("readings", reading)).isEqualTo(ByteBuffer.allocate(4).putInt(7).array());
		assertThat(this.readings.latest(7)).isEqualTo(42);
	}

	@Test
	void whatIsTooLargeIsDropped() throws IOException {
		try (DatagramSocket socket = new DatagramSocket()) {
			send(socket, "readings", new byte[513]);
		}
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(this.servers.get("readings").snapshot().datagrams())
				.extracting(ServerSnapshot.Datagrams::truncated)
				.isEqualTo(1L));
	}

	@Test
	void namesAreAnsweredLater() throws IOException {
		assertThat(ask("names", "alice".getBytes(StandardCharsets.UTF_8))).asString(StandardCharsets.UTF_8)
			.isEqualTo("number of alice");
	}

	private byte[] ask(String server, byte[] request) throws IOException {
		try (DatagramSocket socket = new DatagramSocket()) {
			socket.setSoTimeout(20_000);
			send(socket, server, request);
			DatagramPacket reply = new DatagramPacket(new byte[1000], 1000);
			socket.receive(reply);
			return Arrays.copyOf(reply.getData(), reply.getLength());
		}
	}

	private void send(DatagramSocket socket, String server, byte[] request) throws IOException {
		int port = this.servers.get(server).port();
		socket.send(new DatagramPacket(request, request.length, InetAddress.getLoopbackAddress(), port));
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import({ ReadingHandler.class, NameHandler.class })
	static class Application {

		@Bean
		Function<String, CompletionStage<String>> directory() {
			return (name) -> CompletableFuture.supplyAsync(() -> "number of " + name);
		}

	}

	// tag::reading[]
	@LfHandler(server = "readings")
	static class ReadingHandler implements MessageHandler {

		private final ConcurrentMap<Integer, Long> latest = new ConcurrentHashMap<>();

		@Override
		public void onMessage(Connection datagram, ByteBuffer message) {
			int sensor = message.getInt();
			long reading = message.getLong();
			this.latest.merge(sensor, reading, Math::max);
			datagram.send(ByteBuffer.allocate(4).putInt(0, sensor));
		}

		// end::reading[]

		long latest(int sensor) {
			return this.latest.getOrDefault(sensor, -1L);
		}

		// tag::reading[]

	}
	// end::reading[]

	// tag::name[]
	@LfHandler(server = "names")
	static class NameHandler implements MessageHandler {

		private final Function<String, CompletionStage<String>> directory;

		NameHandler(Function<String, CompletionStage<String>> directory) {
			this.directory = directory;
		}

		@Override
		public void onMessage(Connection datagram, ByteBuffer message) {
			String name = StandardCharsets.UTF_8.decode(message).toString();
			Suspension suspension = datagram.suspend();
			this.directory.apply(name)
				.thenAccept((number) -> datagram.send(StandardCharsets.UTF_8.encode(number)))
				.whenComplete((result, failure) -> suspension.resume());
		}

	}
	// end::name[]

}
