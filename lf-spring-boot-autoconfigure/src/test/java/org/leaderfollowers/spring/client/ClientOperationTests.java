package org.leaderfollowers.spring.client;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.ClientSnapshot.Outcome;
import org.leaderfollowers.ClientSnapshot.State;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.actuate.ClientsEndpoint;
import org.leaderfollowers.spring.actuate.ClientsEndpoint.ClientDescriptor;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersEndpointAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersHealthContributorAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersMetricsAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersObservationAutoConfiguration;
import org.leaderfollowers.spring.event.ClientConnectedEvent;
import org.leaderfollowers.spring.event.ClientDisconnectedEvent;
import org.leaderfollowers.spring.event.ClientEvent;
import org.leaderfollowers.spring.event.ClientStateChangedEvent;
import org.leaderfollowers.spring.health.LeaderFollowersHealthContributor;
import org.leaderfollowers.spring.health.ServerHealthIndicator;
import org.leaderfollowers.spring.handler.InvalidReplyException;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor.ExchangeCall;
import org.leaderfollowers.spring.observation.ExchangeObservationContext;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Clients as operators see them: meters, observations, health, events and the endpoint.
 */
class ClientOperationTests {

	private final LinePeer peer = new LinePeer((line) -> line.equals("silence") ? null : line);

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersMetricsAutoConfiguration.class, LeaderFollowersObservationAutoConfiguration.class,
				LeaderFollowersHealthContributorAutoConfiguration.class,
				LeaderFollowersEndpointAutoConfiguration.class))
		.withUserConfiguration(Imports.class, Events.class)
		.withPropertyValues("lf.clients.ledger.addresses=" + this.peer.address(),
				"lf.clients.ledger.correlation.type=in-order", "lf.clients.ledger.request-timeout=60s",
				"management.endpoints.jmx.exposure.include=*", "spring.jmx.enabled=true");

	@AfterEach
	void end() {
		this.peer.close();
	}

	private static void awaitConnected(ApplicationContext context, int connections) {
		Awaitility.await().until(() -> context.getBean(TcpClient.class).snapshot().connected() == connections);
	}

	@Test
	void exchangesAreTimedByOutcome() {
		this.runner.withBean(MeterRegistry.class, SimpleMeterRegistry::new)
			.withBean(ExchangeInterceptor.class, () -> ClientOperationTests::wrapFailures)
			.withPropertyValues("lf.observation.mode=never")
			.run((context) -> {
				callInVain(context);
				call(context);
				MeterRegistry registry = context.getBean(MeterRegistry.class);
				assertThat(registry.get("lf.client.exchanges")
					.tags("client", "ledger", "method", "Ledger.book", "outcome", "replied", "error", "none")
					.timer()
					.count()).isEqualTo(1);
				assertThat(registry.get("lf.client.exchanges")
					.tags("outcome", "timed_out", "error", "ExchangeTimeoutException")
					.timer()
					.count()).isEqualTo(1);
				Awaitility.await()
					.until(() -> registry.get("lf.client.exchanges")
						.tags("method", "Ledger.bookLater", "outcome", "replied")
						.timer()
						.count() == 1);
				Awaitility.await()
					.until(() -> registry.find("lf.client.exchanges")
						.tags("method", "Ledger.bookNumber", "outcome", "error", "error", "InvalidReplyException")
						.timer() != null);
			});
	}

	/** A dependent future fails with an exception that wraps the failure. */
	private static Object wrapFailures(ExchangeCall call) throws Exception {
		Object reply = call.proceed();
		return (reply instanceof CompletableFuture<?> future) ? future.thenApply(Function.identity()) : reply;
	}

	private static void callInVain(ApplicationContext context) {
		awaitConnected(context, 1);
		assertThat(context.getBean(Ledger.class).bookNumber("none")).failsWithin(Duration.ofSeconds(60))
			.withThrowableOfType(ExecutionException.class)
			.withCauseExactlyInstanceOf(InvalidReplyException.class);
	}

	private static void call(ApplicationContext context) throws Exception {
		Ledger ledger = context.getBean(Ledger.class);
		assertThat(ledger.book("one")).isEqualTo("one");
		assertThat(ledger.bookLater("two").get(60, TimeUnit.SECONDS)).isEqualTo("two");
		assertThatExceptionOfType(ExchangeTimeoutException.class).isThrownBy(() -> ledger.bookSoon("silence"));
	}

	@Test
	void exchangesAreObservedAsChildrenOfWhatTheCallerDoes() {
		Observations observations = new Observations();
		this.runner.withBean(ExchangeInterceptor.class, () -> ClientOperationTests::wrapFailures)
			.withBean(ObservationRegistry.class, () -> {
				ObservationRegistry registry = ObservationRegistry.create();
				registry.observationConfig().observationHandler(observations);
				return registry;
			})
			.run((context) -> {
				callInVain(context);
				ObservationRegistry registry = context.getBean(ObservationRegistry.class);
				Observation parent = Observation.start("parent", registry);
				try (Observation.Scope scope = parent.openScope()) {
					call(context);
				}
				parent.stop();
				assertThat(observations.of("Ledger.book", "replied").getParentObservation()).isSameAs(parent);
				assertThat(observations.of("Ledger.bookLater", "replied").getParentObservation()).isSameAs(parent);
				assertThat(observations.of("Ledger.bookSoon", "timed_out").getRemoteServiceName()).isEqualTo("ledger");
				assertThat(observations.of("Ledger.bookNumber", "error").getError())
					.isExactlyInstanceOf(InvalidReplyException.class);
			});
	}

	@Test
	void meters() {
		this.runner.withBean(MeterRegistry.class, SimpleMeterRegistry::new).run((context) -> {
			TcpClient client = context.getBean(TcpClient.class);
			call(context);
			awaitConnected(context, 1);
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			// Meters share a snapshot for a moment, and an exchange is counted after it
			// has ended. The address counts as failing for a moment if its connection
			// soon timed out.
			Awaitility.await().untilAsserted(() -> {
				assertThat(ended(registry, "replied"))
					.isEqualTo(client.snapshot().exchanges().get(Outcome.REPLIED).doubleValue())
					.isEqualTo(2);
				assertMeters(registry);
			});
		});
	}

	private static void assertMeters(MeterRegistry registry) {
		assertThat(ended(registry, "timed_out")).isEqualTo(1);
		for (String gauge : new String[] { "lf.client.exchanges.pending", "lf.client.exchanges.waiting",
				"lf.client.addresses.failing" }) {
			assertThat(registry.get(gauge).tag("client", "ledger").gauge().value()).as(gauge).isZero();
		}
		for (String gauge : new String[] { "lf.client.running", "lf.client.connections",
				"lf.client.connections.max" }) {
			assertThat(registry.get(gauge).tag("client", "ledger").gauge().value()).as(gauge).isEqualTo(1);
		}
		assertThat(registry.get("lf.client.connects").tag("outcome", "success").functionCounter().count())
			.isGreaterThanOrEqualTo(2);
		assertThat(registry.get("lf.client.connects").tag("outcome", "failure").functionCounter().count()).isZero();
		assertThat(registry.get("lf.client.disconnects").functionCounter().count()).isEqualTo(1);
		assertThat(registry.get("lf.client.replies.late").functionCounter().count()).isZero();
		assertThat(registry.get("lf.client.messages.unexpected").functionCounter().count()).isZero();
		assertThat(registry.get("lf.client.bytes").tag("direction", "sent").functionCounter().count()).isEqualTo(16);
	}

	private static double ended(MeterRegistry registry, String outcome) {
		return registry.get("lf.client.exchanges.ended")
			.tags("client", "ledger", "outcome", outcome)
			.functionCounter()
			.count();
	}

	@Test
	void healthIsThatOfTheConnectionsUnlessTheClientIsOptional() {
		this.runner
			.withPropertyValues("lf.clients.spare.addresses=127.0.0.1:1", "lf.clients.spare.correlation.type=in-order",
					"lf.clients.spare.optional=true", "lf.clients.lost.addresses=127.0.0.1:1",
					"lf.clients.lost.correlation.type=in-order")
			.run((context) -> {
				Awaitility.await()
					.untilAsserted(() -> assertThat(health(context, "ledger").getStatus()).isEqualTo(Status.UP));
				Awaitility.await()
					.untilAsserted(() -> assertThat(health(context, "lost").getDetails().get("addresses")).asString()
						.contains("reachable=false"));
				Health lost = health(context, "lost");
				assertThat(lost.getStatus()).isEqualTo(Status.DOWN);
				assertThat(lost.getDetails()).containsEntry("state", State.RUNNING)
					.containsEntry("optional", false)
					.containsEntry("connections", new ServerHealthIndicator.Connections(1, 0))
					.containsEntry("reason", "The client is connected to none of its addresses. It retries");
				Health spare = health(context, "spare");
				assertThat(spare.getStatus()).isEqualTo(Status.UNKNOWN);
				assertThat(spare.getDetails()).containsEntry("optional", true).containsKey("reason");
				assertThat(context.getBean(ClientsEndpoint.class).clients().clients().get("spare").optional()).isTrue();
				context.getSourceApplicationContext().stop();
				assertThat(health(context, "ledger").getStatus()).isEqualTo(Status.OUT_OF_SERVICE);
			});
	}

	private static Health health(ApplicationContext context, String client) {
		CompositeHealthContributor clients = (CompositeHealthContributor) context
			.getBean(LeaderFollowersHealthContributor.class)
			.getContributor("clients");
		assertThat(clients).isNotNull();
		HealthIndicator indicator = (HealthIndicator) clients.getContributor(client);
		assertThat(indicator).isNotNull();
		Health health = indicator.health(true);
		assertThat(health).isNotNull();
		return health;
	}

	@Test
	void theEndpointShowsAllClientsOrOne() {
		this.runner.run((context) -> {
			call(context);
			awaitConnected(context, 1);
			ClientsEndpoint endpoint = context.getBean(ClientsEndpoint.class);
			Map<String, ClientDescriptor> clients = endpoint.clients().clients();
			assertThat(clients).containsOnlyKeys("ledger");
			ClientDescriptor ledger = endpoint.client("ledger");
			assertThat(ledger).isNotNull();
			assertThat(ledger.state()).isEqualTo(State.RUNNING);
			assertThat(ledger.pool()).isEqualTo("default");
			assertThat(ledger.optional()).isFalse();
			assertThat(ledger.addresses()).singleElement()
				.satisfies((address) -> assertThat(address.address()).isEqualTo(this.peer.address()));
			assertThat(ledger.connections().established()).isEqualTo(1);
			assertThat(ledger.connections().disconnects()).isEqualTo(1);
			// A reply is counted after its caller has received it.
			Awaitility.await()
				.untilAsserted(() -> assertThat(endpoint.client("ledger").exchanges().ended())
					.containsEntry(Outcome.REPLIED, 2L)
					.containsEntry(Outcome.TIMED_OUT, 1L));
			assertThat(endpoint.client("other")).isNull();
		});
	}

	@Test
	void eventsTellOfConnectionsAndOfTheLifeOfTheClient() {
		this.runner.run((context) -> {
			Events events = context.getBean(Events.class);
			// The client may be connected before the thread that has started it publishes
			// its event.
			List<ClientEvent> first = List.of(events.next(ClientEvent.class), events.next(ClientEvent.class));
			assertThat(only(first, ClientStateChangedEvent.class).getState()).isEqualTo(State.RUNNING);
			ClientConnectedEvent connected = only(first, ClientConnectedEvent.class);
			assertThat(connected.getClient()).isSameAs(context.getBean(TcpClient.class));
			assertThat(connected).hasToString("ClientConnectedEvent[client=ledger]");
			Awaitility.await().until(() -> !this.peer.connections.isEmpty());
			this.peer.connections.forEach((connection) -> connection.close());
			ClientDisconnectedEvent disconnected = events.next(ClientDisconnectedEvent.class);
			assertThat(disconnected.getConnection()).isSameAs(connected.getConnection());
			assertThat(disconnected.getReason()).isNotNull();
			events.next(ClientConnectedEvent.class);
			context.getSourceApplicationContext().stop();
			events.next(ClientDisconnectedEvent.class);
			assertThat(events.next(ClientStateChangedEvent.class).getState()).isEqualTo(State.CLOSED);
			assertThatExceptionOfType(ExchangeRejectedException.class)
				.isThrownBy(() -> context.getBean(Ledger.class).book("late"));
		});
	}

	private static <E extends ClientEvent> E only(List<ClientEvent> events, Class<E> type) {
		List<E> ofType = events.stream().filter(type::isInstance).map(type::cast).toList();
		assertThat(ofType).as("%s of %s", type, events).hasSize(1);
		return ofType.get(0);
	}

	@LfClient("ledger")
	interface Ledger {

		@Exchange
		String book(String order);

		@Exchange(timeout = "50ms")
		String bookSoon(String order);

		@Exchange
		CompletableFuture<String> bookLater(String order);

		@Exchange
		CompletableFuture<Integer> bookNumber(String order);

	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(Ledger.class)
	static class Imports {

	}

	static class Events {

		private final BlockingQueue<ClientEvent> events = new LinkedBlockingQueue<>();

		@EventListener
		void on(ClientEvent event) {
			this.events.add(event);
		}

		<E extends ClientEvent> E next(Class<E> type) throws InterruptedException {
			ClientEvent event = this.events.poll(60, TimeUnit.SECONDS);
			assertThat(event).isInstanceOf(type);
			return type.cast(event);
		}

	}

	static class Observations implements ObservationHandler<ExchangeObservationContext> {

		private final Queue<ExchangeObservationContext> stopped = new ConcurrentLinkedQueue<>();

		@Override
		public void onStop(ExchangeObservationContext context) {
			this.stopped.add(context);
		}

		@Override
		public boolean supportsContext(Observation.Context context) {
			return context instanceof ExchangeObservationContext;
		}

		/**
		 * The exchanges may be in any order: a future is completed before its observation
		 * is stopped, and the next exchange may end meanwhile.
		 */
		ExchangeObservationContext of(String name, String outcome) {
			Awaitility.await()
				.until(() -> this.stopped.stream().anyMatch((context) -> name.equals(context.getContextualName())));
			List<ExchangeObservationContext> ofName = this.stopped.stream()
				.filter((context) -> name.equals(context.getContextualName()))
				.toList();
			assertThat(ofName).hasSize(1);
			ExchangeObservationContext context = ofName.get(0);
			assertThat(context.getName()).isEqualTo("lf.client.exchanges");
			assertThat(context.getLowCardinalityKeyValue("outcome").getValue()).isEqualTo(outcome);
			assertThat(context.getLowCardinalityKeyValue("client").getValue()).isEqualTo("ledger");
			return context;
		}

	}

}
