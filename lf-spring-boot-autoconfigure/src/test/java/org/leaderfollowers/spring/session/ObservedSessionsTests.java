package org.leaderfollowers.spring.session;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.actuate.SessionsEndpoint;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersEndpointAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersHealthContributorAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersMetricsAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersSessionAutoConfiguration;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.handler.MessageConversion;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.boot.health.contributor.HealthContributors;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for what operators see of sessions, and for messages to sessions of another node,
 * which a directory of the test plays.
 */
class ObservedSessionsTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersSessionAutoConfiguration.class, LeaderFollowersEndpointAutoConfiguration.class,
				LeaderFollowersMetricsAutoConfiguration.class, LeaderFollowersHealthContributorAutoConfiguration.class))
		.withBean(SimpleMeterRegistry.class)
		.withPropertyValues("lf.server.port=0", "management.endpoints.web.exposure.include=*",
				"management.endpoints.jmx.exposure.include=*");

	@Test
	void theEndpointShowsWhoHoldsAName() {
		this.runner.withBean(Binding.class).run((context) -> {
			SessionsEndpoint endpoint = context.getBean(SessionsEndpoint.class);
			assertThat(endpoint.session("4711")).isNull();
			try (LineClient one = new LineClient(context.getBean(LeaderFollowersServers.class).get("default").port());
					LineClient two = new LineClient(
							context.getBean(LeaderFollowersServers.class).get("default").port())) {
				assertThat(one.ask("4711")).isEqualTo("ok");
				assertThat(two.ask("4712")).isEqualTo("ok");
				SessionsEndpoint.SessionsDescriptor all = endpoint.sessions(null);
				assertThat(all.node()).isEqualTo("local");
				assertThat(all.problem()).isNull();
				assertThat(all.nodes()).containsExactly(new SessionNode("local", 2, true));
				assertThat(all.open()).isEqualTo(2);
				assertThat(all.sessions()).extracting(SessionsEndpoint.SessionDescriptor::name)
					.as("the latest first")
					.containsExactly("4712", "4711");
				assertThat(endpoint.sessions("1").sessions()).hasSize(1);
				assertThatExceptionOfType(InvalidEndpointRequestException.class)
					.isThrownBy(() -> endpoint.sessions("501"));
				SessionsEndpoint.SessionDescriptor found = endpoint.session("4711");
				assertThat(found).isNotNull();
				assertThat(found.server()).isEqualTo("default");
				assertThat(found.epoch()).isEqualTo(context.getBean(LfSessions.class).get("4711").get().epoch());
			}
		});
	}

	@Test
	void theEndpointShowsTheLatestSessionsAndTheirTakeovers() {
		this.runner.withBean(Binding.class).run((context) -> {
			SessionsEndpoint endpoint = context.getBean(SessionsEndpoint.class);
			int port = context.getBean(LeaderFollowersServers.class).get("default").port();
			List<LineClient> clients = new ArrayList<>();
			for (int i = 0; i < 21; i++) {
				clients.add(new LineClient(port));
				assertThat(clients.get(i).ask("reader-" + i)).isEqualTo("ok");
			}
			assertThat(endpoint.sessions(null).sessions()).hasSize(20);
			SessionEntry first = context.getBean(LfSessions.class).get("reader-0").orElseThrow();
			clients.add(new LineClient(port));
			assertThat(clients.get(21).ask("reader-0")).isEqualTo("ok");
			SessionsEndpoint.SessionDescriptor second = endpoint.sessions("1").sessions().get(0);
			assertThat(second.name()).isEqualTo("reader-0");
			assertThat(second.node()).isEqualTo("local");
			assertThat(second.takeovers()).isEqualTo(1);
			assertThat(second.since()).isAfter(first.since());
			for (LineClient client : clients) {
				client.close();
			}
			await().untilAsserted(() -> assertThat(endpoint.sessions(null).open()).isZero());
		});
	}

	@Test
	void metersCountWhatHappens() {
		this.runner.withBean(Binding.class).run((context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			LfSessions sessions = context.getBean(LfSessions.class);
			try (LineClient one = new LineClient(context.getBean(LeaderFollowersServers.class).get("default").port())) {
				assertThat(one.ask("4711")).isEqualTo("ok");
				sessions.send("4711", "x");
				sessions.send("nobody", "x");
				assertThat(registry.get("lf.sessions.open").gauge().value()).isEqualTo(1);
				assertThat(registry.get("lf.sessions.nodes").gauge().value()).isEqualTo(1);
				assertThat(registry.get("lf.sessions.opened").functionCounter().count()).isEqualTo(1);
				assertThat(registry.get("lf.sessions.messages").tag("route", "local").functionCounter().count())
					.isEqualTo(1);
				assertThat(registry.get("lf.sessions.failures").functionCounter().count()).isEqualTo(1);
				assertThat(registry.get("lf.sessions.takeovers").functionCounter().count()).isZero();
				assertThat(registry.get("lf.sessions.contested").functionCounter().count()).isZero();
			}
		});
	}

	@Test
	void aDirectoryThatCannotBeReachedTakesNoNodeOutOfService() {
		OtherNode other = new OtherNode();
		this.runner.withBean(Binding.class).withBean(SessionDirectory.class, () -> other).run((context) -> {
			assertThat(health(context.getBean("lfHealthContributor", HealthContributor.class)).getStatus())
				.isEqualTo(Status.UP);
			other.problem = "The engine is down";
			Health health = health(context.getBean("lfHealthContributor", HealthContributor.class));
			assertThat(health.getStatus()).isEqualTo(Status.UNKNOWN);
			assertThat(health.getDetails()).containsEntry("reason", "The engine is down")
				.containsEntry("nodes", 2)
				.containsEntry("open", 0L);
			assertThat(context.getBean(SessionsEndpoint.class).sessions(null).problem())
				.isEqualTo("The engine is down");
			other.failure = new ExchangeRejectedException("The engine is down", null);
			assertThatExceptionOfType(InvalidEndpointRequestException.class)
				.isThrownBy(() -> context.getBean(SessionsEndpoint.class).session("4711"))
				.withMessageContaining("The engine is down");
			assertThat(new SessionsEndpoint.WebExtension(context.getBean(SessionsEndpoint.class)).session("4711"))
				.extracting(WebEndpointResponse::getStatus)
				.isEqualTo(409);
			assertThat(context.getBean(LfSessions.class).send("4711", "x")).isEqualTo(Delivery.UNREACHABLE);
			assertThat(other.started).isTrue();
		});
		assertThat(other.started).isFalse();
	}

	private static Health health(HealthContributor lf) {
		CompositeHealthContributor contributor = (CompositeHealthContributor) lf;
		assertThat(contributor.stream()).extracting(HealthContributors.Entry::name).contains("sessions");
		return ((HealthIndicator) contributor.getContributor("sessions")).health();
	}

	@Test
	void aMessageForAnotherNodeIsSentOnceToTheHolderOfToday() {
		OtherNode other = new OtherNode();
		this.runner.withBean(Binding.class).withBean(SessionDirectory.class, () -> other).run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			other.stale.set(2);
			assertThat(sessions.send("4711", "x")).as("moved twice meanwhile").isEqualTo(Delivery.SENT);
			assertThat(other.received.get()).isEqualTo(1);
			other.stale.set(3);
			assertThat(sessions.send("4711", "x")).as("moved again and again").isEqualTo(Delivery.GONE);
			assertThat(other.received.get()).isEqualTo(1);
			other.stale.set(1);
			assertThat(sessions.exchange("4711", "question", String.class, TIMEOUT)).isEqualTo("question");
			assertThat(sessions.get("4711").orElseThrow().node()).isEqualTo("other");
			other.failure = new ExchangeLostException("The node is gone", null);
			assertThat(sessions.send("4711", "x")).isEqualTo(Delivery.UNKNOWN);
			assertThatExceptionOfType(ExchangeLostException.class)
				.isThrownBy(() -> sessions.exchange("4711", "question", String.class, TIMEOUT))
				.withMessage("The node is gone");
			assertThat(sessions.broadcast("to all")).isEqualTo(new SessionBroadcast(3, 0, 0, 1));
			assertThat(sessions.counters().remoteMessages()).isEqualTo(4);
			assertThat(context.getBean(MeterRegistry.class)
				.get("lf.sessions.messages")
				.tag("route", "remote")
				.functionCounter()
				.count()).isEqualTo(4);
			LfSessions withoutServers = new LfSessions(other, new SessionOptions(5, 10, Duration.ofMinutes(1), TIMEOUT),
					context.getBean(MessageConversion.class), Set::of, (event) -> {
					});
			assertThat(withoutServers.broadcast("to all")).isEqualTo(new SessionBroadcast(3, 0, 0, 1));
		});
	}

	@Test
	void aMessageThatIsRefusedTooLateIsNotSentHere() {
		OtherNode other = new OtherNode();
		CompletableFuture<Delivery> refusal = new CompletableFuture<>();
		other.unanswered = refusal;
		this.runner.withBean(Binding.class)
			.withBean(SessionDirectory.class, () -> other)
			.withPropertyValues("lf.sessions.timeout=10ms")
			.run((context) -> {
				LfSessions sessions = context.getBean(LfSessions.class);
				try (LineClient device = new LineClient(
						context.getBean(LeaderFollowersServers.class).get("default").port())) {
					// It is unreachable if a slow machine needs all of the time to find
					// it.
					await().atMost(Duration.ofSeconds(60))
						.until(() -> sessions.sendAsync("4711", "late").get(60, TimeUnit.SECONDS),
								Delivery.UNKNOWN::equals);
					assertThat(device.ask("4711")).isEqualTo("ok");
					// This thread looks the name up again, and finds the session of this
					// node.
					refusal.completeExceptionally(new StaleSessionException(
							new SessionEntry("4711", "other", "default", 5, Instant.EPOCH, 0, Instant.EPOCH)));
					assertThat(device.ask("4711")).as("nothing else was sent").isEqualTo("ok");
				}
			});
	}

	@Test
	void aRequestThatAnotherNodeDoesNotAnswerEndsInTime() {
		OtherNode other = new OtherNode();
		other.unanswered = new CompletableFuture<>();
		this.runner.withBean(Binding.class).withBean(SessionDirectory.class, () -> other).run((context) -> {
			LfSessions sessions = context.getBean(LfSessions.class);
			// It is rejected if a slow machine needs all of the time to find the client.
			await().atMost(TIMEOUT)
				.untilAsserted(
						() -> assertThat(sessions.exchangeAsync("4711", "?", String.class, Duration.ofMillis(20)))
							.failsWithin(TIMEOUT)
							.withThrowableThat()
							.withCauseInstanceOf(ExchangeTimeoutException.class));
		});
	}

	@Test
	void aWaitThatEndsWithoutAnAnswerIsCancelled() {
		CompletableFuture<Delivery> late = new CompletableFuture<>();
		assertThatExceptionOfType(ExchangeTimeoutException.class)
			.isThrownBy(() -> SessionRouter.await(late, Duration.ofMillis(1)));
		assertThat(late).isCancelled();
		CompletableFuture<Delivery> interrupted = new CompletableFuture<>();
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(ExchangeLostException.class)
			.isThrownBy(() -> SessionRouter.await(interrupted, TIMEOUT));
		assertThat(Thread.interrupted()).isTrue();
		assertThat(interrupted).isCancelled();
	}

	@Test
	void aChildContextSharesTheSessionsOfItsParent() {
		this.runner.withBean(Binding.class)
			.run((parent) -> this.runner.withParent(parent)
				.run((child) -> assertThat(child.getBean(LfSessions.class))
					.isSameAs(parent.getBean(LfSessions.class))));
	}

	/** A directory that says that another node holds every name, and plays that node. */
	private static final class OtherNode implements SessionDirectory {

		private final SessionDirectory memory = SessionDirectory.inMemory(Clock.systemUTC());

		private final AtomicInteger stale = new AtomicInteger();

		private final AtomicInteger received = new AtomicInteger();

		private volatile boolean started;

		private volatile @Nullable String problem;

		private volatile @Nullable RuntimeException failure;

		private volatile @Nullable CompletableFuture<Delivery> unanswered;

		@Override
		public void start(SessionHolder holder) {
			this.started = true;
		}

		@Override
		public void stop() {
			this.started = false;
		}

		@Override
		public String node() {
			return "this";
		}

		@Override
		public List<SessionNode> nodes() {
			return List.of(new SessionNode("this", 0, true), new SessionNode("other", 1, false));
		}

		@Override
		public @Nullable String problem() {
			return this.problem;
		}

		@Override
		public CompletableFuture<SessionEntry> claim(SessionClaim claim) {
			return this.memory.claim(claim);
		}

		@Override
		public void release(SessionEntry entry) {
		}

		@Override
		public CompletableFuture<@Nullable SessionEntry> find(String name) {
			RuntimeException now = this.failure;
			if (now instanceof ExchangeRejectedException) {
				return CompletableFuture.failedFuture(now);
			}
			return CompletableFuture
				.completedFuture(new SessionEntry(name, "other", "default", 5, Instant.EPOCH, 0, Instant.EPOCH));
		}

		private <R> CompletableFuture<R> answer(SessionEntry to, R result) {
			if (this.stale.getAndDecrement() > 0) {
				return CompletableFuture.failedFuture(new StaleSessionException(to));
			}
			RuntimeException now = this.failure;
			if (now != null) {
				return CompletableFuture.failedFuture(now);
			}
			this.received.incrementAndGet();
			return CompletableFuture.completedFuture(result);
		}

		@Override
		public CompletableFuture<Delivery> send(SessionEntry to, ByteBuffer message, Duration timeout) {
			CompletableFuture<Delivery> later = this.unanswered;
			return (later != null) ? later : answer(to, Delivery.SENT);
		}

		@Override
		public CompletableFuture<ByteBuffer> exchange(SessionEntry to, ByteBuffer request, Duration timeout) {
			return (this.unanswered != null) ? new CompletableFuture<>() : answer(to, request);
		}

		@Override
		public CompletableFuture<SessionBroadcast> broadcast(@Nullable String group, Map<Charset, ByteBuffer> messages,
				Duration timeout) {
			return CompletableFuture.completedFuture(new SessionBroadcast(3, 0, 0, 1));
		}

	}

	@LfHandler
	static class Binding {

		private final LfSessions sessions;

		Binding(LfSessions sessions) {
			this.sessions = sessions;
		}

		@OnMessage
		String bind(String name, Connection connection) {
			this.sessions.bind(connection, name);
			return "ok";
		}

	}

}
