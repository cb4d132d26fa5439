package org.leaderfollowers.spring.autoconfigure;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import reactor.core.scheduler.Schedulers;
import reactor.core.publisher.Mono;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.ClientKey;
import org.leaderfollowers.ClientLimitException;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionSnapshot;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.LfAuthentication;
import org.leaderfollowers.spring.handler.LfHeaders;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.limit.ClientLimiter;
import org.leaderfollowers.spring.limit.ClientLimiter.Effect;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.limit.ClientLimits;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.slf4j.LoggerFactory;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.authentication.BadCredentialsException;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Limits that apply to each client, over sockets. No test depends on how fast a limit
 * recovers: the limits are either so low that they do not recover in time, or the test
 * waits for it.
 */
@Timeout(300)
@ExtendWith(OutputCaptureExtension.class)
class ClientLimitTests {

	/** At a limit of one byte a second, the client has to wait for ten minutes. */
	private static final String LONG = "x".repeat(600);

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersMetricsAutoConfiguration.class))
		.withBean(MeterRegistry.class, SimpleMeterRegistry::new)
		.withPropertyValues("lf.server.port=0", "lf.server.address=127.0.0.1", "lf.pool.threads.min=2",
				"lf.pool.threads.max=4");

	private static Server server(AssertableApplicationContext context) {
		return context.getBean(LeaderFollowersServers.class).get("default");
	}

	private static LineClient connect(AssertableApplicationContext context) throws IOException {
		return new LineClient(server(context).port());
	}

	private static ClientLimiter limiter(AssertableApplicationContext context) {
		ClientLimiter limiter = context.getBean(ClientLimiters.class).get("default");
		assertThat(limiter).isNotNull();
		return limiter;
	}

	private static double metered(AssertableApplicationContext context, String limit, String action) {
		return context.getBean(MeterRegistry.class)
			.get("lf.server.limited")
			.tags("server", "default", "limit", limit, "action", action)
			.functionCounter()
			.count();
	}

	private static void awaitClosed(AssertableApplicationContext context, CloseReason reason, long count) {
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(
					() -> assertThat(server(context).snapshot().closedConnections()).containsEntry(reason, count));
	}

	/** The server closes the connection, orderly or by a reset, without sending. */
	private static void assertRejected(AssertableApplicationContext context) throws IOException {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server(context).port())) {
			socket.setSoTimeout(60_000);
			int read;
			try {
				read = socket.getInputStream().read();
			}
			catch (java.net.SocketException ex) {
				read = -1;
			}
			assertThat(read).isEqualTo(-1);
		}
	}

	@Test
	void aServerWithoutLimitsIsNotWrapped() {
		this.runner.withUserConfiguration(Echo.class).run((context) -> {
			assertThat(context.getBean(ClientLimiters.class).get("default")).isNull();
			assertThat(isWrapped(context)).isFalse();
			assertThat(context.getBean(MeterRegistry.class).find("lf.server.limited").meters()).isEmpty();
		});
	}

	private static boolean isWrapped(AssertableApplicationContext context) {
		MessageHandler handler = Connection::send;
		return context.getBean("leaderFollowersClientLimitDecorator", MessageHandlerDecorator.class)
			.decorate(handler, "default", "echo") != handler;
	}

	@Test
	void furtherConnectionsOfAClientAreRejected(CapturedOutput output) {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.max-connections=2")
			.run((context) -> {
				assertThat(isWrapped(context)).isTrue();
				try (LineClient first = connect(context); LineClient second = connect(context)) {
					assertThat(first.ask("a")).isEqualTo("a");
					assertThat(second.ask("b")).isEqualTo("b");
					assertRejected(context);
					assertRejected(context);
				}
				assertThat(server(context).snapshot().rejectedConnections()).isEqualTo(2);
				assertThat(metered(context, "max_connections", "refuse")).isEqualTo(2);
				assertThat(limiter(context).snapshot().offenders()).singleElement().satisfies((offender) -> {
					assertThat(offender.client()).isEqualTo("127.0.0.1");
					assertThat(offender.limit()).isEqualTo(Limit.MAX_CONNECTIONS);
					assertThat(offender.count()).isEqualTo(2);
				});
				String line = "Client 127.0.0.1 has exceeded 'max-connections' (2) of server "
						+ "'default': this is refused until it is within its limits";
				Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> output.toString().contains(line));
				assertThat(output).containsOnlyOnce(line);
				Awaitility.await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> {
					try (LineClient again = connect(context)) {
						return again.ask("c").equals("c");
					}
				});
			});
	}

	@Test
	void connectionsThatComeTooFastAreRejected() {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.connections-per-second=1")
			.run((context) -> {
				try (LineClient first = connect(context)) {
					assertThat(first.ask("a")).isEqualTo("a");
				}
				Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(1)).until(() -> {
					new Socket(InetAddress.getLoopbackAddress(), server(context).port()).close();
					return metered(context, "connections_per_second", "refuse") > 0;
				});
			});
	}

	@Test
	void behindALoadBalancerTheClientOfTheHeaderIsLimited() {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.max-connections=1",
					"lf.server.proxy-protocol.trusted-networks=127.0.0.0/8")
			.run((context) -> {
				try (LineClient one = connect(context); LineClient other = connect(context)) {
					assertThat(one.ask("PROXY TCP4 203.0.113.1 198.51.100.1 4000 443\r\na")).isEqualTo("a");
					assertThat(other.ask("PROXY TCP4 203.0.113.2 198.51.100.1 4000 443\r\nb")).isEqualTo("b");
					try (LineClient further = connect(context)) {
						assertThat(further.ask("PROXY TCP4 203.0.113.1 198.51.100.1 4001 443\r")).isEqualTo("<closed>");
					}
					awaitClosed(context, CloseReason.CLIENT_LIMIT, 1);
					assertThat(limiter(context).snapshot().offenders()).singleElement()
						.extracting(ClientLimiter.Offender::client)
						.isEqualTo("203.0.113.1");
				}
			});
	}

	@ParameterizedTest
	@CsvSource({ "1,COMPLETION", "8,COMPLETION", "8,ARRIVAL" })
	void aSuspendedClientLosesNothing(int inFlight, String replyOrder) {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.messages-per-second=20",
					"lf.server.max-in-flight-per-connection=" + inFlight, "lf.server.reply-order=" + replyOrder)
			.run((context) -> {
				try (LineClient client = connect(context)) {
					List<String> sent = new ArrayList<>();
					for (int i = 0; i < 60; i++) {
						sent.add("message " + i);
					}
					client.send(String.join("\n", sent));
					List<String> received = new ArrayList<>();
					for (int i = 0; i < 60; i++) {
						received.add(client.read());
					}
					if (inFlight == 1 || replyOrder.equals("ARRIVAL")) {
						assertThat(received).isEqualTo(sent);
					}
					else {
						assertThat(received).containsExactlyInAnyOrderElementsOf(sent);
					}
				}
				assertThat(metered(context, "messages_per_second", "suspend")).isPositive();
			});
	}

	@Test
	void aClientThatSendsTooManyBytesIsSuspended() {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.bytes-per-second=1KB")
			.run((context) -> {
				try (LineClient client = connect(context)) {
					String large = "x".repeat(1500);
					assertThat(client.ask(large)).isEqualTo(large);
					assertThat(client.ask("after")).isEqualTo("after");
				}
				assertThat(metered(context, "bytes_per_second", "suspend")).isEqualTo(1);
			});
	}

	@Test
	void aSuspendedConnectionDoesNotHoldUpTheShutdown() {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.bytes-per-second=1")
			.run((context) -> {
				TcpServer server = (TcpServer) server(context);
				try (LineClient client = connect(context)) {
					// It would be suspended for 10 minutes.
					assertThat(client.ask(LONG)).isEqualTo(LONG);
					assertThat(server.connections()).extracting(ConnectionSnapshot::state)
						.containsExactly(ConnectionSnapshot.State.SUSPENDED);
					client.send("received before the drain");
					assertThat(server.drain(Duration.ofSeconds(120))).isTrue();
					assertThat(client.read()).isEqualTo("received before the drain");
					assertThat(client.read()).isNull();
				}
				assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.SHUTDOWN, 1L);
			});
	}

	@Test
	void aConversationCountsAndContinues() {
		this.runner.withUserConfiguration(Conversation.class)
			.withPropertyValues("lf.server.per-client.messages-per-second=1")
			.run((context) -> {
				try (LineClient client = connect(context)) {
					for (int i = 0; i < 200; i++) {
						assertThat(client.ask("next")).isEqualTo("next");
					}
					assertThat(client.ask("end")).isEqualTo("end");
					// Each lasts a second at least, and there is one at a time.
					assertThat(metered(context, "messages_per_second", "suspend")).isBetween(1.0, 150.0);
				}
			});
	}

	@Test
	void aRefusedMessageReachesTheMethodForErrors() {
		this.runner.withUserConfiguration(Refusing.class)
			.withPropertyValues("lf.server.per-client.bytes-per-second=1", "lf.server.per-client.action=refuse")
			.run((context) -> {
				try (LineClient client = connect(context)) {
					assertThat(client.ask(LONG)).isEqualTo(LONG);
					assertThat(client.ask("another")).isEqualTo("busy: another");
					assertThat(client.ask("a third")).isEqualTo("busy: a third");
				}
				assertThat(metered(context, "bytes_per_second", "refuse")).isEqualTo(2);
			});
	}

	@ParameterizedTest
	@CsvSource({ "1,COMPLETION", "8,COMPLETION", "8,ARRIVAL" })
	void aRefusedMessageThatNothingHandlesClosesTheConnection(int inFlight, String replyOrder, CapturedOutput output) {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.bytes-per-second=1", "lf.server.per-client.action=refuse",
					"lf.server.max-in-flight-per-connection=" + inFlight, "lf.server.reply-order=" + replyOrder)
			.run((context) -> {
				try (LineClient client = connect(context)) {
					assertThat(client.ask(LONG)).isEqualTo(LONG);
					assertThat(client.ask("another")).isEqualTo("<closed>");
				}
				awaitClosed(context, CloseReason.CLIENT_LIMIT, 1);
				// A leader leaves its lines to another thread.
				Awaitility.await()
					.atMost(Duration.ofSeconds(60))
					.untilAsserted(() -> assertThat(output)
						.contains("The client has exceeded 'bytes-per-second' (1) of server 'default'"));
				assertThat(output).doesNotContain("\tat org.leaderfollowers");
			});
	}

	@Test
	void theConnectionOfAClientAboveItsLimitIsClosed() {
		this.runner.withUserConfiguration(Echo.class)
			.withConfiguration(AutoConfigurations.of(LeaderFollowersObservationAutoConfiguration.class))
			.withPropertyValues("lf.server.per-client.bytes-per-second=1", "lf.server.per-client.action=close")
			.run((context) -> {
				try (LineClient client = connect(context)) {
					assertThat(client.ask(LONG)).isEqualTo(LONG);
					assertThat(client.ask("another")).isEqualTo("<closed>");
				}
				awaitClosed(context, CloseReason.CLIENT_LIMIT, 1);
				assertThat(metered(context, "bytes_per_second", "close")).isEqualTo(1);
				assertThat(context.getBean(MeterRegistry.class).get("lf.messages").timers())
					.as("a refused message is not observed")
					.singleElement()
					.satisfies((timer) -> assertThat(timer.count()).isOne());
			});
	}

	@Test
	void datagramsAboveTheLimitAreDropped() {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.transport=udp", "lf.server.per-client.bytes-per-second=1")
			.run((context) -> {
				try (DatagramSocket socket = new DatagramSocket()) {
					socket.setSoTimeout(60_000);
					byte[] bytes = LONG.getBytes(StandardCharsets.US_ASCII);
					socket.connect(InetAddress.getLoopbackAddress(), server(context).port());
					socket.send(new DatagramPacket(bytes, bytes.length));
					socket.receive(new DatagramPacket(new byte[1000], 1000));
					socket.send(new DatagramPacket(bytes, bytes.length));
					Awaitility.await()
						.atMost(Duration.ofSeconds(60))
						.until(() -> metered(context, "bytes_per_second", "drop") == 1);
				}
				assertThat(context.getBean(MeterRegistry.class).get("lf.server.limited").functionCounters()).hasSize(2);
			});
	}

	/**
	 * Connects a client and names it. The connection counts for the address until the
	 * handler has returned, which may be after the reply, so the next one may be too
	 * early.
	 */
	private static LineClient named(AssertableApplicationContext context, String name) {
		return Awaitility.await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> {
			LineClient client = connect(context);
			return client.ask("NAME " + name).equals("NAME " + name) ? client : null;
		}, Objects::nonNull);
	}

	@Test
	void clientsOfOneAddressHaveLimitsOfTheirOwnWhenTheyAreKnown() {
		this.runner.withUserConfiguration(Named.class)
			.withPropertyValues("lf.server.per-client.max-connections=1", "lf.server.per-client.bytes-per-second=20",
					"lf.server.per-client.action=refuse")
			.run((context) -> {
				try (LineClient ada = named(context, "ada")) {
					try (LineClient bob = named(context, "bob")) {
						assertThat(bob.ask(LONG)).isEqualTo(LONG);
						assertThat(ada.ask("x")).as("has its own limit").isEqualTo("x");
					}
				}
			});
	}

	@Test
	void aFurtherConnectionOfAKnownClientIsClosed() {
		this.runner.withUserConfiguration(Named.class)
			.withPropertyValues("lf.server.per-client.max-connections=1")
			.run((context) -> {
				try (LineClient ada = named(context, "ada")) {
					try (LineClient again = named(context, "ada")) {
						assertThat(again.read()).isNull();
					}
					awaitClosed(context, CloseReason.CLIENT_LIMIT, 1);
					assertThat(metered(context, "max_connections", "close")).isEqualTo(1);
					assertThat(ada.ask("x")).isEqualTo("x");
					assertThat(limiter(context).snapshot().offenders()).extracting(ClientLimiter.Offender::client)
						.contains("key of ada");
				}
			});
	}

	@Test
	void afterTooManyFailedLoginsTheClientMustWait() {
		this.runner.withUserConfiguration(Login.class)
			.withPropertyValues("lf.server.per-client.failed-logins-per-minute=2")
			.run((context) -> {
				Login handler = context.getBean(Login.class);
				try (LineClient known = connect(context); LineClient attacker = connect(context)) {
					assertThat(known.ask("LOGIN right")).isEqualTo("welcome");
					assertThat(attacker.ask("LOGIN wrong")).isEqualTo("wrong");
					assertThat(attacker.ask("nothing")).isEqualTo("no login");
					assertThat(attacker.ask("LOGIN wrong")).isEqualTo("wrong");
					assertThat(attacker.ask("LOGIN right")).isEqualTo("wait");
					assertThat(handler.attempts).as("the password was not tried").hasValue(3);
					assertRejected(context);
					assertThat(known.ask("hello")).isEqualTo("hello");
				}
				assertThat(metered(context, "failed_logins_per_minute", "refuse")).isEqualTo(2);
			});
	}

	@Test
	void loginsThatAreSentTogetherAreTriedOneAfterTheOther() {
		this.runner.withUserConfiguration(Login.class)
			.withPropertyValues("lf.server.per-client.failed-logins-per-minute=2",
					"lf.server.max-in-flight-per-connection=8")
			.run((context) -> {
				Login handler = context.getBean(Login.class);
				try (LineClient attacker = connect(context)) {
					attacker.send(String.join("\n", Collections.nCopies(8, "LOGIN wrong")));
					List<String> answers = new ArrayList<>();
					for (int i = 0; i < 8; i++) {
						answers.add(attacker.read());
					}
					assertThat(answers).containsOnly("wrong", "wait");
					assertThat(answers).filteredOn("wrong"::equals).hasSize(2);
					assertThat(handler.attempts).as("passwords that were tried").hasValue(2);
				}
			});
	}

	@Test
	void aLogThatBlocksDoesNotKeepTheServerFromAccepting() {
		CountDownLatch gate = new CountDownLatch(1);
		AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
			@Override
			protected void append(ILoggingEvent event) {
				try {
					gate.await(200, TimeUnit.SECONDS);
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
			}
		};
		appender.start();
		Logger logger = (Logger) LoggerFactory.getLogger(ClientLimiter.class);
		logger.addAppender(appender);
		try {
			this.runner.withUserConfiguration(Echo.class)
				.withPropertyValues("lf.server.per-client.max-connections=1")
				.run((context) -> {
					try (LineClient first = connect(context)) {
						assertThat(first.ask("a")).isEqualTo("a");
						assertRejected(context);
						assertRejected(context);
						assertThat(first.ask("b")).isEqualTo("b");
					}
					Awaitility.await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> {
						try (LineClient next = connect(context)) {
							return next.ask("c").equals("c");
						}
					});
				});
		}
		finally {
			gate.countDown();
			logger.detachAppender(appender);
		}
	}

	@Test
	void aClientThatHasLoggedInCannotGuessOtherPasswords() {
		this.runner.withUserConfiguration(LoginAgain.class)
			.withPropertyValues("lf.server.per-client.failed-logins-per-minute=2")
			.run((context) -> {
				LoginAgain handler = context.getBean(LoginAgain.class);
				try (LineClient attacker = connect(context)) {
					assertThat(attacker.ask("LOGIN right")).isEqualTo("welcome");
					assertThat(attacker.ask("LOGIN wrong")).isEqualTo("wrong");
					assertThat(attacker.ask("FAIL ")).as("is no login").isEqualTo("wrong");
					assertThat(attacker.ask("LOGIN wrong")).isEqualTo("wrong");
					assertThat(attacker.ask("LOGIN right")).isEqualTo("wait");
					assertThat(handler.attempts).as("passwords that were tried").hasValue(3);
					assertThat(attacker.ask("FAIL ")).as("is still logged in").isEqualTo("wrong");
				}
				assertRejected(context);
			});
	}

	@ParameterizedTest
	@ValueSource(classes = { LoginLater.class, ReactiveLogin.class })
	void aLoginThatFailsLaterCountsOnce(Class<? extends FailingLater> handler) {
		this.runner.withUserConfiguration(handler)
			.withPropertyValues("lf.server.per-client.failed-logins-per-minute=2")
			.run((context) -> {
				try (LineClient attacker = connect(context)) {
					assertThat(attacker.ask("one")).isEqualTo("wrong");
					assertThat(attacker.ask("two")).isEqualTo("wrong");
					assertThat(attacker.ask("right")).isEqualTo("wait");
				}
				assertThat(context.getBean(handler).attempts).hasValue(2);
			});
	}

	@Test
	void aLoginThatSpringSecurityRejectsFailsOnce() {
		this.runner.withConfiguration(AutoConfigurations.of(LeaderFollowersSecurityAutoConfiguration.class))
			.withUserConfiguration(SecureLogin.class)
			.withBean(AuthenticationManager.class, () -> (request) -> {
				throw new BadCredentialsException("wrong");
			})
			.withPropertyValues("lf.server.per-client.failed-logins-per-minute=2")
			.run((context) -> {
				try (LineClient client = connect(context)) {
					assertThat(client.ask("LOGIN thrown")).as("counts once").isEqualTo("thrown");
					assertThat(client.ask("LOGIN caught")).isEqualTo("caught");
					assertThat(client.ask("LOGIN caught")).isEqualTo("wait");
				}
				assertRejected(context);
			});
	}

	@Test
	void loginTimeoutsAreFailedLogins() {
		this.runner.withUserConfiguration(Login.class)
			.withPropertyValues("lf.server.per-client.failed-logins-per-minute=1", "lf.server.login-timeout=100ms")
			.run((context) -> {
				try (LineClient silent = connect(context)) {
					assertThat(silent.read()).isNull();
				}
				awaitClosed(context, CloseReason.LOGIN_TIMEOUT, 1);
				assertRejected(context);
			});
	}

	@Test
	void limitsChangeWhileTheServerRuns() {
		this.runner.withUserConfiguration(Refusing.class)
			.withPropertyValues("lf.server.per-client.max-connections=100")
			.run((context) -> {
				try (LineClient client = connect(context)) {
					assertThat(client.ask(LONG)).isEqualTo(LONG);
					limiter(context).change(new ClientLimits(Map.of(Limit.BYTES_PER_SECOND, 1L), Action.REFUSE));
					assertThat(client.ask("b" + LONG)).isEqualTo("b" + LONG);
					assertThat(client.ask("c")).isEqualTo("busy: c");
					limiter(context).change(new ClientLimits(Map.of(), Action.REFUSE));
					assertThat(client.ask("d")).isEqualTo("d");
				}
			});
	}

	/**
	 * A client that sends without pause has used its share; other clients of the same
	 * server, with one thread for all, are served as long as it goes on.
	 */
	@Test
	void otherClientsGoOnWhileOneFloods() {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.messages-per-second=50", "lf.pool.threads.min=1",
					"lf.pool.threads.max=1", "lf.server.proxy-protocol.trusted-networks=127.0.0.0/8")
			.run((context) -> {
				AtomicBoolean stop = new AtomicBoolean();
				try (LineClient flooding = connect(context); LineClient other = connect(context)) {
					flooding.send("PROXY TCP4 203.0.113.66 198.51.100.1 4000 443\r");
					Thread flood = new Thread(() -> flood(flooding, stop), "flood");
					Thread reader = new Thread(() -> drain(flooding), "reader");
					flood.start();
					reader.start();
					try {
						Awaitility.await()
							.atMost(Duration.ofSeconds(60))
							.until(() -> limiter(context).excesses(Limit.MESSAGES_PER_SECOND, Effect.SUSPEND) > 0);
						assertThat(other.ask("PROXY TCP4 203.0.113.1 198.51.100.1 4000 443\r\nbegin"))
							.isEqualTo("begin");
						for (int i = 0; i < 30; i++) {
							assertThat(other.ask("message " + i)).isEqualTo("message " + i);
						}
						assertThat(limiter(context).snapshot().offenders()).singleElement()
							.extracting(ClientLimiter.Offender::client)
							.isEqualTo("203.0.113.66");
					}
					finally {
						stop.set(true);
						flooding.close();
						flood.join();
						reader.join();
					}
				}
			});
	}

	private static void flood(LineClient client, AtomicBoolean stop) {
		try {
			while (!stop.get()) {
				client.send("flood");
			}
		}
		catch (IOException ex) {
			// The test is over.
		}
	}

	private static void drain(LineClient client) {
		try {
			while (client.read() != null) {
				// Replies do not matter.
			}
		}
		catch (IOException ex) {
			// The test is over.
		}
	}

	@Test
	void eachCombinationHasAMeter() {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.max-connections=100")
			.run((context) -> assertThat(
					context.getBean(MeterRegistry.class).get("lf.server.limited").functionCounters())
				.extracting(FunctionCounter::getId)
				.extracting((id) -> id.getTag("limit") + " " + id.getTag("action"))
				.containsExactlyInAnyOrder("max_connections refuse", "max_connections close",
						"connections_per_second refuse", "connections_per_second close", "messages_per_second suspend",
						"messages_per_second refuse", "messages_per_second close", "bytes_per_second suspend",
						"bytes_per_second refuse", "bytes_per_second close", "failed_logins_per_minute refuse",
						"failed_logins_per_minute close"));
	}

	@Test
	void withoutTheLibraryTheStartFailsAndSaysWhatIsMissing() {
		this.runner.withUserConfiguration(Echo.class)
			.withClassLoader(new FilteredClassLoader("io.github.bucket4j"))
			.withPropertyValues("lf.server.per-client.max-connections=1")
			.run((context) -> assertThat(context).getFailure()
				.hasStackTraceContaining("Property lf.server.per-client with value '' is invalid")
				.hasStackTraceContaining("com.bucket4j:bucket4j_jdk17-core, which is missing"));
		this.runner.withUserConfiguration(Echo.class)
			.withClassLoader(new FilteredClassLoader("io.github.bucket4j"))
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', value = { "max-connections=0 | max-connections | Must be from 1 to 1000000000.",
			"messages-per-second=-1 | messages-per-second | Must be from 1 to 1000000000.",
			"bytes-per-second=1GB | bytes-per-second | Must be from 1 to 1000000000.",
			"action=close | lf.server.per-client with value '' | Has no effect without a limit.",
			"max-connections=1;max-clients=0 | max-clients | Must be from 1 to 10000000.",
			"max-connections=1;ipv4-prefix-length=33 | ipv4-prefix-length | Must be from 8 to 32.",
			"max-connections=1;ipv6-prefix-length=15 | ipv6-prefix-length | Must be from 16 to 128.",
			"max-connections=1;transport=udp | max-connections | Is used only if 'lf.server.transport' is 'tcp'.",
			"failed-logins-per-minute=1;transport=udp | failed-logins-per-minute | Is used only if",
			"messages-per-second=1;action=refuse;transport=udp | action | Is used only if" })
	void mistakesFailTheStart(String values, String property, String reason) {
		String[] pairs = values.split(";");
		for (int i = 0; i < pairs.length; i++) {
			pairs[i] = "lf.server." + (pairs[i].startsWith("transport") ? "" : "per-client.") + pairs[i];
		}
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues(pairs)
			.run((context) -> assertThat(context).getFailure()
				.hasStackTraceContaining(property)
				.hasStackTraceContaining(reason));
	}

	/** With other lengths, more or fewer addresses would be one client. */
	@Test
	void addressesWithThePrefixOfOneClientShareItsLimit() {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.max-connections=1", "lf.server.per-client.ipv4-prefix-length=20",
					"lf.server.per-client.ipv6-prefix-length=44")
			.run((context) -> {
				assertThat(admitted(context, "10.0.0.1", "10.0.15.1", "10.0.16.1")).containsExactly("10.0.0.1",
						"10.0.16.1");
				assertThat(admitted(context, "2001:db8:0::1", "2001:db8:f::1", "2001:db8:10::1"))
					.containsExactly("2001:db8:0::1", "2001:db8:10::1");
			});
	}

	@Test
	void onlyTheConfiguredNumberOfClientsIsCountedOneByOne() {
		this.runner.withUserConfiguration(Echo.class)
			.withPropertyValues("lf.server.per-client.max-connections=1", "lf.server.per-client.max-clients=2")
			.run((context) -> {
				assertThat(admitted(context, "10.0.0.1", "10.1.0.1", "10.2.0.1")).hasSize(3);
				assertThat(limiter(context).snapshot().clients()).isEqualTo(2);
				assertThat(limiter(context).snapshot().aggregates()).isEqualTo(1);
			});
	}

	/** The addresses from which a connection is admitted. All of them stay open. */
	private static List<String> admitted(AssertableApplicationContext context, String... addresses) throws IOException {
		List<String> admitted = new ArrayList<>();
		for (String address : addresses) {
			if (limiter(context).admit(new InetSocketAddress(InetAddress.getByName(address), 1)) != null) {
				admitted.add(address);
			}
		}
		return admitted;
	}

	@Configuration(proxyBeanMethods = false)
	static class Echo {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return Connection::send;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Conversation {

		@Bean
		@LfHandler
		MessageHandler conversation() {
			return (connection, message) -> {
				connection.send(message);
				ByteBuffer next;
				do {
					next = connection.receive(Duration.ofSeconds(60));
					connection.send(next);
				}
				while (next.remaining() != "end".length());
			};
		}

	}

	@LfHandler
	static class Refusing {

		@OnMessage
		String echo(String text) {
			return text;
		}

		@OnError
		String refused(ClientLimitException failure, String text) {
			return "busy: " + text;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Named {

		@Bean
		@LfHandler
		MessageHandler named() {
			return (connection, message) -> {
				String text = StandardCharsets.US_ASCII.decode(message.duplicate()).toString();
				if (text.startsWith("NAME ")) {
					connection.attributes().put("name", text.substring(5));
				}
				connection.send(message);
			};
		}

		@Bean
		ClientKey clientKey() {
			return (connection) -> {
				Object name = connection.attributes().get("name");
				return (name != null) ? "key of " + name : null;
			};
		}

	}

	@LfHandler
	static class SecureLogin {

		private final LfAuthentication authentication;

		SecureLogin(LfAuthentication authentication) {
			this.authentication = authentication;
		}

		@OnLogin(prefix = "LOGIN ")
		String login(String text, Connection connection) {
			try {
				this.authentication.login(connection, UsernamePasswordAuthenticationToken.unauthenticated("ada", text));
				return "welcome";
			}
			catch (BadCredentialsException ex) {
				if (text.equals("caught")) {
					return "caught";
				}
				throw ex;
			}
		}

		@OnMessage
		String echo(String text) {
			return text;
		}

		@OnError
		String wrong(BadCredentialsException failure) {
			return "thrown";
		}

		@OnError
		String limited(ClientLimitException failure) {
			return "wait";
		}

	}

	abstract static class FailingLater {

		final AtomicInteger attempts = new AtomicInteger();

		@OnError
		String wrong(SecurityException failure) {
			return "wrong";
		}

		@OnError
		String limited(ClientLimitException failure) {
			return "wait";
		}

	}

	@LfHandler
	static class LoginLater extends FailingLater {

		@OnLogin
		CompletableFuture<String> login(String password) {
			this.attempts.incrementAndGet();
			return CompletableFuture.supplyAsync(() -> {
				throw new SecurityException("wrong");
			});
		}

	}

	@LfHandler
	static class ReactiveLogin extends FailingLater {

		@OnLogin
		Mono<String> login(String password) {
			this.attempts.incrementAndGet();
			return Mono.<String>error(new SecurityException("wrong")).subscribeOn(Schedulers.parallel());
		}

	}

	@LfHandler
	static class LoginAgain {

		final AtomicInteger attempts = new AtomicInteger();

		@OnLogin(prefix = "LOGIN ")
		String login(String password, Connection connection) {
			this.attempts.incrementAndGet();
			if (!password.equals("right")) {
				throw new SecurityException("wrong");
			}
			connection.attributes().put(LfHeaders.PRINCIPAL, (java.security.Principal) () -> "ada");
			return "welcome";
		}

		@OnMessage(prefix = "FAIL ")
		String fail(String text) {
			throw new SecurityException("wrong");
		}

		@OnError
		String wrong(SecurityException failure) {
			return "wrong";
		}

		@OnError
		String limited(ClientLimitException failure) {
			return "wait";
		}

	}

	@LfHandler
	static class Login {

		final AtomicInteger attempts = new AtomicInteger();

		@OnLogin(prefix = "LOGIN ")
		String login(String password, Connection connection) {
			this.attempts.incrementAndGet();
			// Time for other threads, as a query of a database would be.
			LockSupport.parkNanos(20_000_000);
			if (!password.equals("right")) {
				throw new SecurityException("wrong");
			}
			connection.attributes().put(LfHeaders.PRINCIPAL, (java.security.Principal) () -> "ada");
			return "welcome";
		}

		@OnMessage
		String echo(String text) {
			return text;
		}

		@OnError
		String wrong(SecurityException failure) {
			return "wrong";
		}

		@OnError
		String limited(ClientLimitException failure) {
			return "wait";
		}

		@OnError
		String other(org.leaderfollowers.spring.handler.LoginRequiredException failure) {
			return "no login";
		}

	}

}
