package org.leaderfollowers.spring.autoconfigure;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.ClientKey;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionSnapshot;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.ServiceClass;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.limit.ClientLimiter;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.limit.ClientLimits;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A client cannot evade its limits by another connection, and does not suffer from those
 * that it has left.
 */
@Timeout(300)
class ClientLimitEvasionTests {

	/** At a limit of one byte a second, the client has to wait for ten minutes. */
	private static final String LONG = "x".repeat(600);

	private static final ClientLimits HIGH = new ClientLimits(Map.of(Limit.BYTES_PER_SECOND, 1_000_000L),
			Action.SUSPEND);

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersSessionAutoConfiguration.class))
		.withUserConfiguration(Handlers.class)
		.withPropertyValues("lf.server.port=0", "lf.server.address=127.0.0.1", "lf.pool.threads.min=2",
				"lf.pool.threads.max=4");

	private static TcpServer server(AssertableApplicationContext context) {
		return (TcpServer) context.getBean(LeaderFollowersServers.class).get("default");
	}

	private static LineClient connect(AssertableApplicationContext context) throws IOException {
		return new LineClient(server(context).port());
	}

	private static ClientLimiter limiter(AssertableApplicationContext context) {
		ClientLimiter limiter = context.getBean(ClientLimiters.class).get("default");
		assertThat(limiter).isNotNull();
		return limiter;
	}

	private static void awaitClosed(AssertableApplicationContext context, CloseReason reason, long count) {
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(
					() -> assertThat(server(context).snapshot().closedConnections()).containsEntry(reason, count));
	}

	/** A server does not notice that a client has gone from which it does not read. */
	private static void closeAll(AssertableApplicationContext context) {
		TcpServer server = server(context);
		server.connections().map((snapshot) -> server.connection(snapshot.id())).forEach((connection) -> {
			if (connection != null) {
				connection.close();
			}
		});
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(server.connections()).isEmpty());
	}

	private static void awaitSuspended(AssertableApplicationContext context) {
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(server(context).connections()).extracting(ConnectionSnapshot::state)
				.containsExactly(ConnectionSnapshot.State.SUSPENDED));
	}

	@Test
	void aClientOwesToItsNextConnectionWhatItHasSentTooMuch() {
		this.runner.withPropertyValues("lf.server.per-client.bytes-per-second=1").run((context) -> {
			try (LineClient first = connect(context)) {
				assertThat(first.ask(LONG)).isEqualTo(LONG);
			}
			closeAll(context);
			try (LineClient second = connect(context)) {
				awaitSuspended(context);
				second.send("x");
				limiter(context).change(HIGH);
				assertThat(second.read()).isEqualTo("x");
			}
			assertThat(limiter(context).snapshot().offenders()).singleElement()
				.satisfies((offender) -> assertThat(offender.count()).isEqualTo(2));
		});
	}

	@Test
	void aClientThatLogsInOwesWhatItHasSentTooMuchBefore() {
		this.runner.withPropertyValues("lf.server.per-client.bytes-per-second=100").run((context) -> {
			try (LineClient first = connect(context)) {
				assertThat(first.ask("NAME ada")).isEqualTo("NAME ada");
				Awaitility.await()
					.atMost(Duration.ofSeconds(60))
					.until(() -> limiter(context).snapshot().clients() == 2);
				limiter(context).change(new ClientLimits(Map.of(Limit.BYTES_PER_SECOND, 1L), Action.SUSPEND));
				assertThat(first.ask(LONG)).isEqualTo(LONG);
			}
			closeAll(context);
			try (LineClient second = connect(context)) {
				assertThat(second.ask("NAME ada")).isEqualTo("NAME ada");
				awaitSuspended(context);
				// The address of the client is suspended before the name is counted.
				Awaitility.await()
					.atMost(Duration.ofSeconds(60))
					.untilAsserted(() -> assertThat(limiter(context).snapshot().offenders()).anySatisfy((offender) -> {
						assertThat(offender.client()).isEqualTo("ada");
						assertThat(offender.count()).isEqualTo(2);
					}));
			}
		});
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aSuspendedConnectionNoticesThatItsLimitWasRaised(int inFlight) {
		this.runner
			.withPropertyValues("lf.server.per-client.bytes-per-second=1",
					"lf.server.max-in-flight-per-connection=" + inFlight, "lf.server.reply-order=arrival")
			.run((context) -> {
				try (LineClient client = connect(context)) {
					assertThat(client.ask(LONG)).isEqualTo(LONG);
					client.send("x");
					limiter(context).change(HIGH);
					assertThat(client.read()).isEqualTo("x");
				}
			});
	}

	@ParameterizedTest
	@CsvSource({ "REFUSE", "CLOSE" })
	void aSuspendedConnectionNoticesAnotherAction(Action action) {
		this.runner.withPropertyValues("lf.server.per-client.bytes-per-second=1").run((context) -> {
			try (LineClient client = connect(context)) {
				assertThat(client.ask(LONG)).isEqualTo(LONG);
				client.send("x");
				limiter(context).change(new ClientLimits(Map.of(Limit.BYTES_PER_SECOND, 1L), action));
				assertThat(client.read()).isNull();
			}
			awaitClosed(context, CloseReason.CLIENT_LIMIT, 1);
		});
	}

	/**
	 * The connection that was taken over stays for a while, because its client does not
	 * close it.
	 */
	@Test
	void theNewestConnectionOfASessionStays() {
		this.runner.withPropertyValues("lf.server.per-client.max-connections=1").run((context) -> {
			try (LineClient old = connect(context)) {
				assertThat(old.ask("NAME ada")).isEqualTo("NAME ada");
				Awaitility.await()
					.atMost(Duration.ofSeconds(60))
					.until(() -> limiter(context).snapshot().clients() == 2);
				try (LineClient newest = connect(context)) {
					assertThat(newest.ask("NAME ada")).isEqualTo("NAME ada");
					assertThat(newest.ask("x")).isEqualTo("x");
					awaitClosed(context, CloseReason.TAKEN_OVER, 1);
					assertThat(newest.ask("y")).isEqualTo("y");
					assertThat(limiter(context).snapshot().offenders()).isEmpty();
				}
			}
		});
	}

	@Test
	void aHandlerDoesNotHearOfAConnectionThatIsRefusedWhenItOpens() {
		this.runner.withBean("own", ClientKey.class, () -> (connection) -> "all", (bean) -> bean.setPrimary(true))
			.withPropertyValues("lf.server.per-client.max-connections=1")
			.run((context) -> {
				List<String> calls = context.getBean(Handlers.class).calls;
				try (LineClient first = connect(context)) {
					assertThat(first.ask("a")).isEqualTo("a");
					try (LineClient second = connect(context)) {
						assertThat(second.read()).isNull();
					}
					awaitClosed(context, CloseReason.CLIENT_LIMIT, 1);
					assertThat(calls).containsExactly("open 1");
				}
				awaitClosed(context, CloseReason.PEER, 1);
				assertThat(calls).containsExactly("open 1", "close 1");
			});
	}

	@Test
	void aKeyThatCannotBeFoundWhenTheConnectionOpensClosesIt() {
		this.runner.withBean("own", ClientKey.class, () -> (connection) -> {
			throw new IllegalStateException("no key");
		}, (bean) -> bean.setPrimary(true))
			.withPropertyValues("lf.server.per-client.max-connections=1")
			.run((context) -> {
				try (LineClient client = connect(context)) {
					assertThat(client.read()).isNull();
				}
				awaitClosed(context, CloseReason.HANDLER_ERROR, 1);
				assertThat(context.getBean(Handlers.class).calls).isEmpty();
			});
	}

	/**
	 * Clients log in, take sessions over, send too much, reset their connections, or just
	 * leave them, all at the same time. When they have gone, nothing is counted.
	 */
	@ParameterizedTest
	@CsvSource({ "SUSPEND,1", "SUSPEND,4", "REFUSE,1", "CLOSE,4" })
	void afterAnAttackNothingIsCounted(Action action, int inFlight) {
		ClientLimits limits = new ClientLimits(Map.of(Limit.MAX_CONNECTIONS, 3L, Limit.BYTES_PER_SECOND, 1000L),
				action);
		this.runner
			.withPropertyValues("lf.server.per-client.max-connections=3", "lf.sessions.max-takeovers=1000000",
					"lf.server.max-in-flight-per-connection=" + inFlight)
			.run((context) -> {
				limiter(context).change(limits);
				List<Thread> attackers = new ArrayList<>();
				for (int i = 0; i < 4; i++) {
					Random random = new Random(i);
					attackers.add(new Thread(() -> attack(server(context).port(), random), "attacker"));
				}
				attackers.forEach(Thread::start);
				for (Thread attacker : attackers) {
					attacker.join();
				}
				limiter(context).change(new ClientLimits(Map.of(Limit.MAX_CONNECTIONS, 3L), action));
				// The server accepts this connection after all others.
				Awaitility.await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> {
					try (LineClient last = connect(context)) {
						return last.ask("last").equals("last");
					}
				});
				closeAll(context);
				List<LineClient> clients = new ArrayList<>();
				for (int i = 0; i < 3; i++) {
					clients.add(served(context));
				}
				try (LineClient further = connect(context)) {
					assertThat(isClosed(further)).isTrue();
				}
				for (LineClient client : clients) {
					client.close();
				}
			});
	}

	/**
	 * Connects a client that is served. A connection still counts for a moment after the
	 * server has noted its end, so the next one may be too early.
	 */
	private static LineClient served(AssertableApplicationContext context) {
		return Awaitility.await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> {
			LineClient client = connect(context);
			return client.ask("x").equals("x") ? client : null;
		}, Objects::nonNull);
	}

	private static void attack(int port, Random random) {
		for (int i = 0; i < 100; i++) {
			try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
				OutputStream output = socket.getOutputStream();
				for (int messages = random.nextInt(4); messages > 0; messages--) {
					String message = random.nextBoolean() ? "NAME client " + random.nextInt(3) : LONG;
					output.write((message + "\n").getBytes(StandardCharsets.US_ASCII));
				}
				if (random.nextBoolean()) {
					socket.setSoTimeout(1 + random.nextInt(20));
					socket.getInputStream().read();
				}
				socket.setSoLinger(random.nextBoolean(), 0);
			}
			catch (IOException ex) {
				// The server does not read or has closed the connection.
			}
		}
	}

	private static boolean isClosed(LineClient client) throws IOException {
		try {
			return client.read() == null;
		}
		catch (SocketException ex) {
			return true;
		}
	}

	/**
	 * The pool of a service class suspends, resumes and closes like that of the server.
	 */
	@Test
	void limitsApplyInThePoolOfAServiceClass() {
		this.runner
			.withBean(ServiceClass.class,
					() -> (connection, first) -> first.remaining() == LONG.length() ? "other" : null)
			.withPropertyValues("lf.pools.other.threads.max=4", "lf.server.service-classes=other",
					"lf.server.per-client.bytes-per-second=1", "lf.server.per-client.max-connections=1")
			.run((context) -> {
				try (LineClient client = connect(context)) {
					assertThat(client.ask(LONG)).isEqualTo(LONG);
					assertThat(server(context).connections()).extracting(ConnectionSnapshot::pool)
						.containsExactly("other");
					awaitSuspended(context);
					limiter(context).change(new ClientLimits(
							Map.of(Limit.MAX_CONNECTIONS, 1L, Limit.BYTES_PER_SECOND, 1_000_000L), Action.SUSPEND));
					assertThat(client.ask("x")).isEqualTo("x");
					try (LineClient second = connect(context)) {
						assertThat(second.read()).isNull();
					}
				}
				awaitClosed(context, CloseReason.PEER, 1);
				served(context).close();
			});
	}

	@Configuration(proxyBeanMethods = false)
	static class Handlers {

		final List<String> calls = new CopyOnWriteArrayList<>();

		@Bean
		@LfHandler
		MessageHandler handler(LfSessions sessions) {
			return new MessageHandler() {

				@Override
				public void onOpen(Connection connection) {
					Handlers.this.calls.add("open " + connection.id());
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					String text = StandardCharsets.US_ASCII.decode(message.duplicate()).toString();
					if (text.startsWith("NAME ")) {
						sessions.bind(connection, text.substring(5));
					}
					connection.send(message);
				}

				@Override
				public void onClose(Connection connection, CloseReason reason) {
					Handlers.this.calls.add("close " + connection.id());
				}

			};
		}

		@Bean
		ClientKey clientKey() {
			return Connection::name;
		}

	}

}
