package org.leaderfollowers.spring.session;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersSessionAutoConfiguration;
import org.leaderfollowers.spring.event.SessionClosedEvent;
import org.leaderfollowers.spring.event.SessionEvent;
import org.leaderfollowers.spring.event.SessionOpenedEvent;
import org.leaderfollowers.spring.event.SessionTakenOverEvent;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.event.EventListener;
import org.springframework.core.ParameterizedTypeReference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LfSessions} on one node, with real connections.
 */
@Timeout(180)
class LfSessionsTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(JacksonAutoConfiguration.class, LeaderFollowersAutoConfiguration.class,
				LeaderFollowersSessionAutoConfiguration.class))
		.withBean(Devices.class)
		.withBean(Events.class)
		.withPropertyValues("lf.server.port=0", "lf.server.correlation.type=in-order", "lf.server.login-timeout=60s");

	private static LineClient connect(BeanFactory context) throws IOException {
		return new LineClient(context.getBean(LeaderFollowersServers.class).get("default").port());
	}

	private static LineClient device(BeanFactory context, String name) throws IOException {
		LineClient device = connect(context);
		assertThat(device.ask("HELLO " + name)).isEqualTo("WELCOME " + name);
		return device;
	}

	@Test
	void aMessageReachesTheDeviceOfAName() {
		this.runner.run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			assertThat(sessions.isPresent("4711")).isFalse();
			assertThat(sessions.send("4711", "lost")).isEqualTo(Delivery.GONE);
			try (LineClient device = device(context, "4711")) {
				assertThat(sessions.isPresent("4711")).isTrue();
				SessionEntry entry = sessions.get("4711").orElseThrow();
				assertThat(entry.name()).isEqualTo("4711");
				assertThat(entry.server()).isEqualTo("default");
				assertThat(entry.node()).isEqualTo(sessions.directory().node());
				assertThat(sessions.held()).containsExactly(entry);
				assertThat(sessions.connection("4711").orElseThrow().name()).isEqualTo("4711");
				assertThat(sessions.send("4711", Map.of("price", 5))).isEqualTo(Delivery.SENT);
				assertThat(device.read()).isEqualTo("{\"price\":5}");
				assertThat(sessions.sendAsync("4711", 7)).succeedsWithin(TIMEOUT).isEqualTo(Delivery.SENT);
				assertThat(device.read()).isEqualTo("7");
				assertThatIllegalArgumentException().isThrownBy(() -> sessions.send("4711", "two\nlines"));
				assertThat(sessions.sendAsync("4711", "two\nlines")).as("does not throw").failsWithin(TIMEOUT);
				assertThat(sessions.counters().failedMessages()).isEqualTo(3);
				assertThatIllegalArgumentException().isThrownBy(() -> sessions.send(" ", "x"));
			}
			Awaitility.await().until(() -> !sessions.isPresent("4711"));
			assertThat(sessions.connection("4711")).isEmpty();
			assertThat(sessions.held()).isEmpty();
			assertThat(sessions.directory().nodes()).containsExactly(new SessionNode("local", 0, true));
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "400000d", "PT9223372036854775807S" })
	void aTimeoutMayBeLongerThanNanosecondsCanTell(String timeout) {
		this.runner.withPropertyValues("lf.sessions.timeout=" + timeout).run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			try (LineClient device = device(context, "4711")) {
				assertThat(sessions.send("4711", "x")).isEqualTo(Delivery.SENT);
				assertThat(device.read()).isEqualTo("x");
				assertThat(sessions.broadcast("y").sent()).isEqualTo(1);
			}
		});
	}

	@Test
	void aRequestIsAnsweredInTheTypeThatIsAskedFor() {
		this.runner.run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			try (LineClient device = device(context, "4711")) {
				CompletableFuture<Price> typed = sessions.exchangeAsync("4711", "price?", Price.class, TIMEOUT);
				assertThat(device.read()).isEqualTo("price?");
				device.send("{\"value\":5}");
				assertThat(typed).succeedsWithin(TIMEOUT).isEqualTo(new Price(5));

				CompletableFuture<List<Price>> waiting = CompletableFuture.supplyAsync(
						() -> sessions.exchange("4711", Map.of("all", true), new ParameterizedTypeReference<>() {
						}, TIMEOUT));
				assertThat(device.read()).isEqualTo("{\"all\":true}");
				device.send("[{\"value\":6},{\"value\":7}]");
				assertThat(waiting).succeedsWithin(TIMEOUT).isEqualTo(List.of(new Price(6), new Price(7)));

				CompletableFuture<Integer> wrong = sessions.exchangeAsync("4711", "number?",
						new ParameterizedTypeReference<>() {
						}, TIMEOUT);
				assertThat(device.read()).isEqualTo("number?");
				device.send("many");
				assertThat(wrong).failsWithin(TIMEOUT)
					.withThrowableThat()
					.havingRootCause()
					.withMessageContaining("many");
				assertThat(sessions.counters().localMessages()).isEqualTo(3);
			}
		});
	}

	@Test
	void aRequestThatCannotBeAnsweredFails() {
		this.runner.run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			assertThatExceptionOfType(ExchangeRejectedException.class)
				.isThrownBy(() -> sessions.exchange("4711", "?", String.class, TIMEOUT))
				.withMessageContaining("No client has logged in as '4711'");
			assertThatExceptionOfType(ExchangeRejectedException.class)
				.isThrownBy(() -> sessions.exchange("4711", "?", String.class, Duration.ofSeconds(Long.MAX_VALUE)));
			assertThatIllegalArgumentException()
				.isThrownBy(() -> sessions.exchangeAsync("4711", "?", String.class, Duration.ZERO));
			try (LineClient device = device(context, "4711")) {
				long failed = sessions.counters().failedMessages();
				// It is rejected if a slow machine needs all of the time to find the
				// client.
				Awaitility.await()
					.atMost(TIMEOUT)
					.untilAsserted(() -> assertThatExceptionOfType(ExchangeTimeoutException.class)
						.isThrownBy(() -> sessions.exchange("4711", "?", String.class, Duration.ofMillis(20))));
				assertThat(device.read()).isEqualTo("?");
				assertThat(sessions.counters().failedMessages()).isGreaterThan(failed);
			}
		});
	}

	@Test
	void theNewestLoginWinsAndTheEarlierConnectionIsClosed() {
		this.runner.run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			Events events = context.getBean(Events.class);
			try (LineClient earlier = device(context, "4711"); LineClient later = connect(context)) {
				Connection lost = sessions.connection("4711").orElseThrow();
				long epoch = sessions.get("4711").orElseThrow().epoch();
				assertThat(later.ask("HELLO 4711")).isEqualTo("WELCOME 4711");
				assertThat(earlier.read()).isNull();
				assertThat(lost.whenClosed()).succeedsWithin(TIMEOUT).isEqualTo(CloseReason.TAKEN_OVER);
				assertThat(sessions.get("4711").orElseThrow().epoch()).isGreaterThan(epoch);
				assertThat(sessions.send("4711", "to the later")).isEqualTo(Delivery.SENT);
				assertThat(later.read()).isEqualTo("to the later");
				Awaitility.await()
					.untilAsserted(() -> assertThat(events.of(1)).containsExactly("SessionOpenedEvent",
							"SessionTakenOverEvent", "SessionClosedEvent TAKEN_OVER"));
				assertThat(events.of(2)).containsExactly("SessionOpenedEvent");
				assertThatExceptionOfType(ConnectionClosedException.class)
					.isThrownBy(() -> sessions.bind(lost, "4711"));
			}
			Awaitility.await()
				.untilAsserted(() -> assertThat(events.of(2)).containsExactly("SessionOpenedEvent",
						"SessionClosedEvent PEER"));
			assertThat(sessions.counters().openedSessions()).isEqualTo(2);
			assertThat(sessions.counters().closedSessions()).isEqualTo(2);
			assertThat(sessions.counters().takenOverSessions()).isEqualTo(1);
			assertThat(sessions.counters().open()).isZero();
		});
	}

	@Test
	void twoDevicesOfOneNameDoNotThrowEachOtherOutForEver() {
		this.runner.withPropertyValues("lf.sessions.max-takeovers=3").run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			List<LineClient> devices = new ArrayList<>();
			for (int i = 0; i < 4; i++) {
				devices.add(device(context, "4711"));
			}
			for (int i = 0; i < 5; i++) {
				try (LineClient late = connect(context)) {
					assertThat(late.ask("HELLO 4711")).startsWith("REFUSED Session '4711' was taken over 3 times");
					assertThat(late.ask("HELLO 4712")).as("the connection stays open").isEqualTo("WELCOME 4712");
				}
			}
			assertThat(devices.get(3).ask("PING")).as("the holder").isEqualTo("PING");
			assertThat(sessions.counters().contestedLogins()).isEqualTo(5);
			for (LineClient device : devices) {
				device.close();
			}
			Awaitility.await().until(() -> !sessions.isPresent("4711"));
			device(context, "4711").close();
		});
	}

	@Test
	void aConnectionHasOneNameWhichItCanChangeAndGiveUp() {
		this.runner.run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			Events events = context.getBean(Events.class);
			try (LineClient device = device(context, "4711")) {
				Connection connection = sessions.connection("4711").orElseThrow();
				SessionEntry entry = sessions.get("4711").orElseThrow();
				assertThat(sessions.bind(connection, "4711")).as("bound already").isEqualTo(entry);
				assertThat(device.ask("HELLO 4712")).isEqualTo("WELCOME 4712");
				assertThat(sessions.isPresent("4711")).isFalse();
				assertThat(sessions.connection("4712")).containsSame(connection);
				assertThat(connection.name()).isEqualTo("4712");
				sessions.unbind(connection);
				assertThat(connection.name()).as("within the server").isNull();
				assertThatIllegalStateException().isThrownBy(() -> sessions.join(connection, "red"));
				connection.name("of the application");
				sessions.unbind(connection);
				assertThat(connection.name()).isEqualTo("of the application");
				assertThat(sessions.isPresent("4712")).isFalse();
				assertThat(device.ask("PING")).isEqualTo("PING");
				assertThat(events.of(1)).containsExactly("SessionOpenedEvent", "SessionClosedEvent LOCAL",
						"SessionOpenedEvent", "SessionClosedEvent LOCAL");
				assertThatIllegalArgumentException().isThrownBy(() -> sessions.bind(connection, " "));
				assertThatIllegalArgumentException().isThrownBy(() -> sessions.bind(connection, "x".repeat(129)))
					.withMessageContaining("lf.sessions.max-name-length");
			}
		});
	}

	@Test
	void aBroadcastReachesAllOrAGroup() {
		this.runner.run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			try (LineClient one = device(context, "1");
					LineClient two = device(context, "2");
					LineClient stranger = connect(context)) {
				Connection member = sessions.connection("1").orElseThrow();
				sessions.join(member, "red");
				assertThat(sessions.groups(member)).containsExactly("red");
				assertThat(sessions.broadcast("red", Map.of("to", "red"))).isEqualTo(new SessionBroadcast(1, 0, 0, 0));
				assertThat(sessions.broadcast("blue", "nobody")).isEqualTo(SessionBroadcast.NONE);
				assertThat(sessions.broadcast("all")).isEqualTo(new SessionBroadcast(2, 0, 0, 0));
				assertThat(one.read()).isEqualTo("{\"to\":\"red\"}");
				assertThat(one.read()).isEqualTo("all");
				assertThat(two.read()).isEqualTo("all");
				sessions.leave(member, "red");
				assertThat(sessions.broadcast("red", "x")).isEqualTo(SessionBroadcast.NONE);
				assertThatIllegalArgumentException().as("not to all").isThrownBy(() -> sessions.broadcast("", "x"));
				assertThat(stranger.ask("PING")).as("nothing was sent").isEqualTo("PING");
				Connection unbound = context.getBean(LeaderFollowersServers.class).get("default") instanceof TcpServer s
						? s.connection(3) : null;
				assertThatIllegalStateException().isThrownBy(() -> sessions.join(unbound, "red"))
					.withMessageContaining("bind it to a name first");
				assertThat(sessions.groups(unbound)).isEmpty();
			}
		});
	}

	@Test
	void aDatagramTakesNoName() {
		this.runner.run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			Connection datagram = mock(Connection.class);
			given(datagram.isOpen()).willReturn(true);
			given(datagram.attributes()).willReturn(new ConcurrentHashMap<>());
			given(datagram.whenClosed()).willThrow(new UnsupportedOperationException("whenClosed"));
			try (LineClient device = device(context, "4711")) {
				assertThatExceptionOfType(UnsupportedOperationException.class)
					.isThrownBy(() -> sessions.bind(datagram, "4711"));
				assertThat(sessions.send("4711", "to the device")).isEqualTo(Delivery.SENT);
				assertThat(device.read()).isEqualTo("to the device");
			}
			Awaitility.await().until(() -> !sessions.isPresent("4711"));
		});
	}

	@Test
	void aListenerThatFailsKeepsNoNameAndHidesNoEvent() {
		this.runner.withBean(FailingListener.class).run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			Events events = context.getBean(Events.class);
			try (LineClient earlier = device(context, "4711"); LineClient later = device(context, "4711")) {
				assertThat(earlier.read()).isNull();
				Awaitility.await()
					.untilAsserted(() -> assertThat(events.of(1)).contains("SessionClosedEvent TAKEN_OVER"));
				later.send("HELLO bad");
				assertThat(later.read()).as("closed, because the handler has failed").isNull();
			}
			Awaitility.await().until(() -> !sessions.isPresent("bad") && !sessions.isPresent("4711"));
			assertThat(sessions.held()).isEmpty();
			// The end of a session is counted after its name has been released.
			Awaitility.await().untilAsserted(() -> assertThat(sessions.counters().open()).isZero());
		});
	}

	@Test
	void manyNamesOfOneConnectionLeaveNothing() {
		this.runner.run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			try (LineClient device = device(context, "0")) {
				Connection connection = sessions.connection("0").orElseThrow();
				for (int i = 1; i <= 1000; i++) {
					sessions.bind(connection, String.valueOf(i));
				}
				assertThat(sessions.held()).extracting(SessionEntry::name).containsExactly("1000");
				assertThat(connection.whenClosed().getNumberOfDependents()).as("of a copy").isZero();
				assertThat(connection.attributes()).hasSize(1);
				assertThatIllegalArgumentException().isThrownBy(() -> sessions.bind(connection, "two\nlines"))
					.withMessageContaining("cannot be printed");
			}
			Awaitility.await().until(() -> sessions.held().isEmpty());
		});
	}

	@Test
	void bindingEndsTheLoginTimeout() {
		this.runner.withPropertyValues("lf.server.login-timeout=1s").run((context) -> {
			try (LineClient device = loggedIn(context); LineClient silent = connect(context)) {
				assertThat(silent.read()).as("closed after the login timeout").isNull();
				assertThat(device.ask("PING")).isEqualTo("PING");
			}
		});
	}

	/** On a machine that stalls, the timeout may come before the login. */
	private static LineClient loggedIn(BeanFactory context) {
		return Awaitility.await().ignoreExceptions().until(() -> {
			LineClient device = connect(context);
			return device.ask("HELLO 4711").equals("WELCOME 4711") ? device : null;
		}, Objects::nonNull);
	}

	@Test
	void connectionsOfAServerThatIsABeanHaveSessions() {
		this.runner.withBean(OwnServer.class).run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			try (LineClient device = new LineClient(context.getBean(LeaderFollowersServers.class).get("own").port())) {
				assertThat(device.ask("4711")).isEqualTo("bound");
				assertThat(sessions.get("4711").orElseThrow().server()).isEqualTo("own");
			}
			Awaitility.await().until(() -> !sessions.isPresent("4711"));
		});
	}

	@Test
	void everyLimitReachesTheSessions() {
		this.runner
			.withPropertyValues("lf.sessions.max-name-length=7", "lf.sessions.max-takeovers=8",
					"lf.sessions.takeover-period=9h", "lf.sessions.timeout=10s")
			.run((context) -> assertThat(context.getBean(LfSessions.class)).extracting("bindings.options")
				.isEqualTo(new SessionOptions(7, 8, Duration.ofHours(9), Duration.ofSeconds(10))));
	}

	@Test
	void invalidLimitsFailTheStart() {
		for (String property : List.of("max-name-length=0", "max-takeovers=0", "takeover-period=0s", "timeout=-1s")) {
			this.runner.withPropertyValues("lf.sessions." + property)
				.run((context) -> assertThat(context).getFailure()
					.hasRootCauseInstanceOf(IllegalArgumentException.class)
					.hasStackTraceContaining("lf.sessions." + property.split("=")[0]));
		}
	}

	record Price(int value) {
	}

	/** A server that the application has built itself. */
	static class OwnServer implements FactoryBean<Server> {

		private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("own").threads(1, 2).build();

		private final ObjectProvider<LfSessions> sessions;

		OwnServer(ObjectProvider<LfSessions> sessions) {
			this.sessions = sessions;
		}

		@Override
		public Server getObject() {
			return TcpServer.builder(this.pool)
				.name("own")
				.port(0)
				.framing(Framing.line())
				.handler((connection, message) -> {
					this.sessions.getObject().bind(connection, StandardCharsets.UTF_8.decode(message).toString());
					connection.send(ByteBuffer.wrap("bound".getBytes()));
				})
				.build();
		}

		@Override
		public Class<?> getObjectType() {
			return TcpServer.class;
		}

	}

	@LfHandler
	static class Devices {

		private final LfSessions sessions;

		Devices(LfSessions sessions) {
			this.sessions = sessions;
		}

		@OnMessage(prefix = "HELLO ")
		String hello(String name, Connection connection) {
			try {
				this.sessions.bind(connection, name);
				return "WELCOME " + name;
			}
			catch (SessionContestedException ex) {
				return "REFUSED " + ex.getMessage();
			}
		}

		@OnMessage(isDefault = true)
		String other(String message) {
			return message;
		}

	}

	static class FailingListener {

		@EventListener
		void on(SessionTakenOverEvent event) {
			throw new IllegalStateException("on purpose");
		}

		@EventListener
		void on(SessionOpenedEvent event) {
			if (event.getName().equals("bad")) {
				throw new IllegalStateException("on purpose");
			}
		}

	}

	static class Events {

		private final List<SessionEvent> events = new CopyOnWriteArrayList<>();

		@EventListener
		void on(SessionEvent event) {
			this.events.add(event);
		}

		List<String> of(long connection) {
			return this.events.stream()
				.filter((event) -> event.getConnection().id() == connection)
				.map((event) -> event.getClass().getSimpleName()
						+ ((event instanceof SessionClosedEvent closed) ? " " + closed.getReason() : ""))
				.toList();
		}

	}

}
