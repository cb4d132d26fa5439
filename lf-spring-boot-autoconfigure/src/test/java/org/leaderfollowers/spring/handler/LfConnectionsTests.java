package org.leaderfollowers.spring.handler;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.handler.LfConnections.Broadcast;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.UnknownNameException;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.converter.AbstractMessageConverter;
import org.springframework.util.MimeTypeUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link LfConnections}.
 */
class LfConnectionsTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(
				AutoConfigurations.of(JacksonAutoConfiguration.class, LeaderFollowersAutoConfiguration.class))
		.withBean(Members.class)
		.withPropertyValues("lf.server.port=0");

	private static LineClient client(BeanFactory context, String name) throws IOException {
		LineClient client = new LineClient(context.getBean(LeaderFollowersServers.class).get("default").port());
		assertThat(client.ask(name)).isEqualTo("hello " + name);
		return client;
	}

	@Test
	void aConnectionIsReachedByItsIdAndByItsName() {
		this.runner.run((context) -> {
			LfConnections connections = context.getBean(LfConnections.class);
			try (LineClient client = client(context, "4711")) {
				assertThat(connections.send("default", 1, "by id")).isEqualTo(Delivery.SENT);
				assertThat(client.read()).isEqualTo("by id");
				assertThat(connections.send("default", "4711", "by name")).isEqualTo(Delivery.SENT);
				assertThat(client.read()).isEqualTo("by name");
				assertThat(connections.find("default", "4711"))
					.containsSame(connections.find("default", 1).orElseThrow());
			}
		});
	}

	@Test
	void whoIsNotThereIsGone() {
		this.runner.run((context) -> {
			LfConnections connections = context.getBean(LfConnections.class);
			assertThat(connections.send("default", 1, "x")).isEqualTo(Delivery.GONE);
			assertThat(connections.send("default", "4711", "x")).isEqualTo(Delivery.GONE);
			assertThat(connections.find("default", 1)).isEmpty();
			assertThat(connections.find("default", "4711")).isEmpty();
			client(context, "4711").close();
			Awaitility.await()
				.untilAsserted(() -> assertThat(connections.send("default", "4711", "x")).isEqualTo(Delivery.GONE));
			// While the connection closes, a broadcast counts it as gone.
			Awaitility.await()
				.untilAsserted(
						() -> assertThat(connections.broadcast("default", "x")).isEqualTo(new Broadcast(0, 0, 0)));
		});
	}

	@Test
	void messagesAreConvertedAsRepliesAre() {
		this.runner.withPropertyValues("lf.server.charset=ISO-8859-1", "lf.server.framing.type=line").run((context) -> {
			LfConnections connections = context.getBean(LfConnections.class);
			try (LineClient client = client(context, "4711")) {
				connections.send("default", 1, Map.of("price", 5));
				assertThat(client.read()).isEqualTo("{\"price\":5}");
				connections.send("default", 1, 7);
				assertThat(client.read()).isEqualTo("7");
				connections.send("default", 1, "bytes".getBytes(StandardCharsets.US_ASCII));
				assertThat(client.read()).isEqualTo("bytes");
				connections.send("default", 1, "ä");
				assertThat(client.read()).as("read as UTF-8, which it is not").isEqualTo("\uFFFD");
				assertThatIllegalArgumentException().isThrownBy(() -> connections.send("default", 1, "two\nlines"));
			}
		});
	}

	@Test
	void messageConvertersAreAskedFirstAndKnowTheConnection() {
		this.runner.withBean(Converter.class).run((context) -> {
			LfConnections connections = context.getBean(LfConnections.class);
			try (LineClient client = client(context, "4711")) {
				connections.send("default", "4711", new Price(5));
				assertThat(client.read()).isEqualTo("5 for 1 of default");
				assertThat(connections.broadcast("default", new Price(6))).isEqualTo(new Broadcast(1, 0, 0));
				assertThat(client.read()).isEqualTo("6 for null of null");
			}
		});
	}

	@Test
	void aBroadcastReachesWhomItIsFor() {
		this.runner.run((context) -> {
			LfConnections connections = context.getBean(LfConnections.class);
			List<LineClient> clients = new ArrayList<>();
			for (int i = 0; i < 5; i++) {
				clients.add(client(context, "client " + i));
			}
			assertThat(connections.broadcast("default", Map.of("to", "all"))).isEqualTo(new Broadcast(5, 0, 0));
			assertThat(connections.broadcast("default", "some", (one) -> one.id() > 3))
				.isEqualTo(new Broadcast(2, 0, 0));
			for (LineClient client : clients) {
				assertThat(client.read()).isEqualTo("{\"to\":\"all\"}");
				if (clients.indexOf(client) >= 3) {
					assertThat(client.read()).isEqualTo("some");
				}
				assertThat(client.ask("still")).as("nothing else was sent").isEqualTo("hello still");
				client.close();
			}
		});
	}

	@Test
	void whoDoesNotReadIsLeftOut() {
		this.runner.withPropertyValues("lf.server.max-outbound-size=64KB").run((context) -> {
			LfConnections connections = context.getBean(LfConnections.class);
			try (LineClient idle = client(context, "idle"); LineClient reads = client(context, "reads")) {
				String much = "x".repeat(10_000);
				Delivery delivery = Delivery.SENT;
				for (int i = 0; i < 100_000 && delivery == Delivery.SENT; i++) {
					delivery = connections.send("default", "idle", much);
				}
				assertThat(delivery).isEqualTo(Delivery.NOT_WRITABLE);
				Connection connection = connections.find("default", "idle").orElseThrow();
				assertThat(connection.isOpen()).isTrue();
				assertThat(connections.broadcast("default", "news")).isEqualTo(new Broadcast(1, 1, 0));
				assertThat(reads.read()).isEqualTo("news");
				assertThat(idle.read()).isEqualTo(much);
			}
		});
	}

	@Test
	void handlersSendToEachOther() {
		this.runner.withBean(Chat.class).withPropertyValues("lf.servers.chat.port=0").run((context) -> {
			int port = context.getBean(LeaderFollowersServers.class).get("chat").port();
			try (LineClient alice = new LineClient(port)) {
				assertThat(alice.ask("hello")).isEqualTo("hello");
				try (LineClient bob = new LineClient(port)) {
					bob.send("hi");
					assertThat(alice.read()).isEqualTo("hi");
				}
			}
		});
	}

	@Test
	void aMistakeIsNamed() {
		this.runner.withPropertyValues("lf.servers.meters.port=0", "lf.servers.meters.transport=udp")
			.withBean(Meters.class)
			.run((context) -> {
				LfConnections connections = context.getBean(LfConnections.class);
				assertThatExceptionOfType(UnknownNameException.class)
					.isThrownBy(() -> connections.broadcast("defualt", "x"));
				assertThatIllegalArgumentException().isThrownBy(() -> connections.send("meters", 1, "x"))
					.withMessage("Server 'meters' is for datagrams, which have no connections");
				try (LineClient client = client(context, "4711")) {
					assertThatIllegalArgumentException()
						.isThrownBy(
								() -> connections.send("default", "4711", new ConcurrentHashMap<>().keySet().stream()))
						.withMessageContaining("Stream");
				}
			});
	}

	@LfHandler
	static class Members {

		@OnMessage
		String login(String name, Connection connection) {
			connection.name(name);
			return "hello " + name;
		}

	}

	/** Needs what sends, which knows the server of this handler. */
	@LfHandler(server = "chat")
	record Chat(LfConnections connections) {

		@OnMessage
		void say(String message) {
			this.connections.broadcast("chat", message);
		}

	}

	@LfHandler(server = "meters")
	static class Meters {

		@OnMessage
		void reading(String message) {
		}

	}

	record Price(int cents) {
	}

	static class Converter extends AbstractMessageConverter {

		Converter() {
			super(MimeTypeUtils.TEXT_PLAIN);
		}

		@Override
		protected boolean supports(Class<?> type) {
			return type == Price.class;
		}

		@Override
		protected boolean canConvertFrom(Message<?> message, Class<?> targetClass) {
			return false;
		}

		@Override
		protected Object convertToInternal(Object payload, MessageHeaders headers, Object conversionHint) {
			return "%d for %s of %s".formatted(((Price) payload).cents(), headers.get(LfHeaders.CONNECTION_ID),
					headers.get(LfHeaders.SERVER));
		}

	}

}
