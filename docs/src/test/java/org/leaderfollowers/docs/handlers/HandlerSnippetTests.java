package org.leaderfollowers.docs.handlers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.handler.PayloadValidationException;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.validation.BeanPropertyBindingResult;

import static org.assertj.core.api.Assertions.assertThat;

/** The examples of the chapters about handlers and errors behave as the chapters say. */
@SpringBootTest(
		properties = { "spring.config.import=classpath:heartbeats.yaml", "lf.server.port=0", "lf.servers.echo.port=0",
				"lf.servers.orders.port=0", "lf.servers.commands.port=0", "lf.servers.accounts.port=0",
				"lf.servers.telemetry.port=0", "lf.servers.rates.port=0", "lf.servers.feed.port=0",
				"lf.servers.payments.port=0", "lf.servers.vault.port=0", "lf.servers.vault.login-timeout=10s",
				"lf.servers.meters.port=0", "lf.servers.meters.max-message-size=100B", "lf.servers.stock.port=0",
				"lf.servers.ticker.port=0", "lf.servers.terminals.port=0",
				"lf.servers.terminals.per-client.bytes-per-second=1", "lf.servers.terminals.per-client.action=refuse" },
		classes = HandlerSnippetTests.Application.class)
class HandlerSnippetTests {

	@Autowired
	private LeaderFollowersServers servers;

	@Test
	void greeter() throws IOException {
		assertConversation("default", "world", "Hello, world");
	}

	@Test
	void echo() throws IOException {
		assertConversation("echo", "hello", "hello");
	}

	@Test
	void orders() throws IOException {
		assertConversation("orders", "{\"item\":\"tea\",\"quantity\":2}", "{\"number\":1}", "tea",
				"{\"problem\":\"This is no order\"}", "{\"item\":\"tea\",\"quantity\":0}",
				"{\"problem\":\"quantity\"}");
	}

	@Test
	void ordersThatAreInvalidAsAWhole() {
		BeanPropertyBindingResult errors = new BeanPropertyBindingResult(new OrderHandler.Order("tea", 1), "order");
		errors.reject("TooMuch");
		assertThat(new OrderHandler().invalid(new PayloadValidationException(errors)).problem()).isEqualTo("order");
	}

	@Test
	void commands() throws IOException {
		assertConversation("commands", "PUT a=b", "OK", "GET a", "b", "WHAT", "ERROR unknown command", "QUIT", "<end>");
		assertConversation("commands", "PUT a", "ERROR internal");
	}

	@Test
	void accounts() throws IOException {
		assertConversation("accounts", "{\"type\":\"deposit\",\"cents\":500}", "{\"cents\":500}",
				"{\"type\":\"pay\",\"cents\":200}", "{\"cents\":300}", "{\"type\":\"balance\"}", "{\"cents\":300}",
				"{\"type\":\"steal\"}", "ERROR internal");
	}

	@Test
	void telemetry() throws IOException {
		assertConversation("telemetry", "{\"kind\":\"temperature\",\"celsius\":20}", "20 degrees",
				"{\"kind\":\"position\",\"latitude\":1,\"longitude\":2}", "at 1, 2");
	}

	@Test
	void rates() throws IOException {
		assertConversation("rates", "RATE EUR", "1.5", "HISTORY 1", "day 0: 1.0", "RATE XXX", "ERROR try again",
				"RATE EUR", "1.5");
	}

	@Test
	void meters() throws IOException {
		try (Socket socket = connect("meters")) {
			BufferedReader reader = reader(socket);
			assertThat(reader.readLine()).isEqualTo("ready");
			assertThat(ask(socket, reader, "")).isEqualTo("failed: nothing to add up");
			assertThat(ask(socket, reader, "a")).isEqualTo("7");
			assertThat(ask(socket, reader, "x".repeat(200))).isEqualTo("ERROR malformed");
			assertThat(reader.readLine()).isNull();
		}
	}

	@Test
	void feed() throws Exception {
		try (Socket socket = connect("feed")) {
			BufferedReader reader = reader(socket);
			assertThat(ask(socket, reader, "HEARTBEAT 0")).isEqualTo("OK");
			assertThat(reader.readLine()).isEqualTo("PING");
			assertThat(reader.readLine()).isEqualTo("PING");
		}
		try (Socket socket = connect("feed")) {
			BufferedReader reader = reader(socket);
			assertThat(ask(socket, reader, "news")).isEqualTo("OK news");
			CompletableFuture<Boolean> closed = CompletableFuture.supplyAsync(
					() -> this.servers.get("feed").close(Duration.ofSeconds(60)), (task) -> new Thread(task).start());
			assertThat(reader.readLine()).isEqualTo("GOAWAY");
			assertThat(reader.readLine()).isNull();
			assertThat(closed.get(60, TimeUnit.SECONDS)).isTrue();
		}
	}

	@Test
	void vault() throws IOException {
		try (Socket intruder = connect("vault"); Socket owner = connect("vault")) {
			BufferedReader toIntruder = reader(intruder);
			BufferedReader toOwner = reader(owner);
			assertThat(ask(owner, toOwner, "LOGIN sesame")).isEqualTo("welcome");
			assertThat(ask(intruder, toIntruder, "OPEN")).isEqualTo("who are you?");
			assertThat(toIntruder.readLine()).isNull();
			assertThat(ask(owner, toOwner, "OPEN")).isEqualTo("open");
		}
	}

	@Test
	void payments() throws IOException {
		assertConversation("payments", "17 pay 5", "17 paid 5", "18 pay much", "18 failed");
	}

	@Test
	void terminals() throws IOException {
		String large = "x".repeat(600);
		assertConversation("terminals", large, "PAID " + large, "5", "BUSY 5");
	}

	@Test
	void stock() throws IOException {
		try (Socket socket = connect("stock")) {
			BufferedReader reader = reader(socket);
			assertThat(reader.readLine()).isEqualTo("ready");
			assertThat(ask(socket, reader, "ADD tea")).isEqualTo("12");
			assertThat(ask(socket, reader, "COUNT tea")).isEqualTo("12");
			assertThat(ask(socket, reader, "COUNT gold")).isEqualTo("ERROR there is no gold");
			assertThat(ask(socket, reader, "SELL tea")).isEqualTo("ERROR unknown command: SELL tea");
		}
	}

	@Test
	void ticker() throws IOException {
		try (Socket socket = connect("ticker")) {
			BufferedReader reader = reader(socket);
			assertThat(ask(socket, reader, "WATCH ACME")).isEqualTo("ACME 100");
			// Handled when the watch has ended.
			assertThat(ask(socket, reader, "LAST ACME")).isEqualTo("ACME 101");
			assertThat(reader.readLine()).isEqualTo("ACME 102");
			assertThat(reader.readLine()).isEqualTo("ACME 100");
		}
	}

	private void assertConversation(String server, String... lines) throws IOException {
		try (Socket socket = connect(server)) {
			BufferedReader reader = reader(socket);
			for (int i = 0; i < lines.length; i += 2) {
				assertThat(ask(socket, reader, lines[i])).isEqualTo(lines[i + 1]);
			}
		}
	}

	private static String ask(Socket socket, BufferedReader reader, String line) throws IOException {
		socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
		String answer = reader.readLine();
		return (answer != null) ? answer : "<end>";
	}

	private Socket connect(String server) throws IOException {
		Socket socket = new Socket(InetAddress.getLoopbackAddress(), this.servers.get(server).port());
		socket.setSoTimeout(20_000);
		return socket;
	}

	private static BufferedReader reader(Socket socket) throws IOException {
		return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
	}

	@SpringBootApplication
	static class Application {

		@Bean
		RateClient rateClient() {
			return new RateClient() {

				@Override
				public CompletableFuture<Double> fetch(String currency) {
					return CompletableFuture.supplyAsync(() -> {
						if (!currency.equals("EUR")) {
							throw new IllegalStateException("no such rate");
						}
						return 1.5;
					});
				}

				@Override
				public double rateAt(long day) {
					return 1 + day;
				}

			};
		}

	}

}
