package org.leaderfollowers.spring.autoconfigure;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import com.sun.management.ThreadMXBean;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.cumulative.CumulativeTimer;
import io.micrometer.core.instrument.distribution.CountAtBucket;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.core.instrument.distribution.pause.PauseDetector;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.GlobalObservationConvention;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationFilter;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationPredicate;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.EchoBeanMethod;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor.ExchangeCall;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.leaderfollowers.spring.observation.DefaultExchangeObservationConvention;
import org.leaderfollowers.spring.observation.DefaultMessageObservationConvention;
import org.leaderfollowers.spring.observation.ExchangeObservationContext;
import org.leaderfollowers.spring.observation.ExchangeObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationContext;
import org.leaderfollowers.spring.observation.MessageObservationConvention;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.slf4j.LoggerFactory;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationHandlerGroup;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationRegistryCustomizer;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ContextConsumer;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link MessageMeasurement}: messages are timed if an observation would only
 * be a timer, and observed if another handler may listen.
 */
@ExtendWith(OutputCaptureExtension.class)
class MessageMeasurementTests {

	private final ApplicationContextRunner withoutMeters = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersObservationAutoConfiguration.class))
		.withUserConfiguration(EchoBeanMethod.class)
		.withPropertyValues("lf.server.port=0");

	private final ApplicationContextRunner contextRunner = this.withoutMeters.withConfiguration(
			AutoConfigurations.of(MetricsAutoConfiguration.class, CompositeMeterRegistryAutoConfiguration.class,
					SimpleMetricsExportAutoConfiguration.class, ObservationAutoConfiguration.class));

	@Test
	void ifOnlyMetersListenMessagesAreTimed() {
		this.contextRunner.run((context) -> assertThat(decorated(context)).isInstanceOf(TimerInterceptor.class));
	}

	@Test
	void observationHandlerIsListenedTo() {
		isObserved(this.contextRunner.withBean("tracing", ObservationHandler.class, Listener::new));
	}

	@Test
	void anotherHandlerForMetersIsListenedTo() {
		isObserved(this.contextRunner.withBean("other", DefaultMeterObservationHandler.class,
				() -> new DefaultMeterObservationHandler(new SimpleMeterRegistry())));
	}

	@Test
	void handlerForMetersOfTheApplicationIsListenedTo() {
		isObserved(this.contextRunner.withAllowBeanDefinitionOverriding(true)
			.withBean("defaultMeterObservationHandler", ObservationHandler.class,
					() -> new DefaultMeterObservationHandler(new SimpleMeterRegistry()) {
					}));
	}

	@Test
	void groupOfHandlersMayWrapThem() {
		isObserved(this.contextRunner.withBean("group", ObservationHandlerGroup.class,
				() -> ObservationHandlerGroup.of(Listener.class)));
	}

	@Test
	void conventionForMessagesIsFollowed() {
		isObserved(this.contextRunner.withBean("convention", MessageObservationConvention.class,
				DefaultMessageObservationConvention::new));
	}

	@Test
	void conventionForExchangesAloneIsFollowed() {
		isObserved(this.contextRunner.withBean("convention", ExchangeObservationConvention.class,
				DefaultExchangeObservationConvention::new));
	}

	@Test
	void observationHandlerOfAParentContextIsListenedTo() {
		new ApplicationContextRunner().withBean("tracing", ObservationHandler.class, Listener::new)
			.run((parent) -> isObserved(this.contextRunner.withParent(parent)));
	}

	@Test
	void globalConventionMayBeForMessages() {
		isObserved(this.contextRunner.withBean("global", GlobalConvention.class));
	}

	@Test
	void predicateMayBeAboutMessages() {
		isObserved(this.contextRunner.withBean("predicate", ObservationPredicate.class, () -> (name, context) -> true));
	}

	@Test
	void filterMayChangeKeyValues() {
		isObserved(this.contextRunner.withBean("filter", ObservationFilter.class, () -> (context) -> context));
	}

	/** The bean of Boot for the settings is both as well. */
	@Test
	void filterOfTheApplicationMayBeAPredicateToo() {
		isObserved(this.contextRunner.withBean("filter", FilterAndPredicate.class));
	}

	@Test
	void customizerMayAddAnything() {
		isObserved(this.contextRunner.withBean("customizer", ObservationRegistryCustomizer.class,
				() -> (registry) -> registry.observationConfig().observationHandler(new Listener())));
	}

	@Test
	void registryOfTheApplicationMayHaveListeners() {
		isObserved(this.contextRunner.withBean("own", ObservationRegistry.class, MessageMeasurementTests::registry));
	}

	@Test
	void secondRegistryIsOfTheApplication() {
		isObserved(this.contextRunner.withUserConfiguration(PrimaryRegistry.class));
	}

	@Test
	void withoutBootsWayToConfigureObservationsTheyAreMade() {
		isObserved(this.withoutMeters.withBean(ObservationRegistry.class, MessageMeasurementTests::registry)
			.withBean(MeterRegistry.class, SimpleMeterRegistry::new)
			.withClassLoader(new FilteredClassLoader("org.springframework.boot.micrometer")));
	}

	@Test
	void withoutMetersMessagesAreObserved() {
		isObserved(this.withoutMeters.withBean(ObservationRegistry.class, MessageMeasurementTests::registry)
			.withClassLoader(new FilteredClassLoader("io.micrometer.core")));
	}

	@Test
	void withoutAnObservationRegistryMessagesAreTimed() {
		this.withoutMeters.withBean(MeterRegistry.class, SimpleMeterRegistry::new)
			.run((context) -> assertThat(decorated(context)).isInstanceOf(TimerInterceptor.class));
	}

	@Test
	void withSeveralMeterRegistriesAndNoPrimaryOneNothingIsTimed() {
		this.withoutMeters.withBean("one", MeterRegistry.class, SimpleMeterRegistry::new)
			.withBean("two", MeterRegistry.class, SimpleMeterRegistry::new)
			.run((context) -> {
				assertThat(decorated(context)).isInstanceOf(EchoHandler.class);
				assertThat(context.getBean(ExchangeInterceptor.class)).isNotInstanceOf(ExchangeTimer.class);
			});
	}

	@Test
	void withSeveralMeterRegistriesTheMessagesAreTimedInAll() {
		this.contextRunner.withBean("one", MeterRegistry.class, SimpleMeterRegistry::new)
			.withBean("two", MeterRegistry.class, SimpleMeterRegistry::new)
			.run((context) -> {
				assertThat(decorated(context)).isInstanceOf(TimerInterceptor.class);
				ask(context, "hello");
				for (String name : new String[] { "one", "two", "compositeMeterRegistry" }) {
					MeterRegistry registry = context.getBean(name, MeterRegistry.class);
					awaitCount(registry, 1);
				}
			});
	}

	@Test
	void alwaysIsAlways() {
		isObserved(this.contextRunner.withPropertyValues("lf.observation.mode=always"));
	}

	/** Listeners may be added later. */
	@Test
	void alwaysIsAlwaysEvenIfNothingListensYet() {
		isObserved(this.withoutMeters.withBean(ObservationRegistry.class, ObservationRegistry::create)
			.withPropertyValues("lf.observation.mode=always"));
	}

	@Test
	void neverIsNever() {
		this.contextRunner.withBean("tracing", ObservationHandler.class, Listener::new)
			.withPropertyValues("lf.observation.mode=never")
			.run((context) -> assertThat(decorated(context)).isInstanceOf(TimerInterceptor.class));
	}

	@Test
	void neverWithoutMetersIsNothing() {
		this.withoutMeters.withBean(ObservationRegistry.class, MessageMeasurementTests::registry)
			.withPropertyValues("lf.observation.mode=never")
			.run((context) -> assertThat(decorated(context)).isInstanceOf(EchoHandler.class));
	}

	@Test
	void unknownModeFailsTheStart() {
		this.contextRunner.withPropertyValues("lf.observation.mode=sometimes")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("No enum constant")
				.hasMessageContaining("sometimes"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "lf.messages", "lf", "all" })
	void observationThatIsDisabledIsNeitherObservedNorTimed(String name) {
		this.contextRunner.withPropertyValues("management.observations.enable." + name + "=false").run((context) -> {
			assertThat(decorated(context)).isInstanceOf(EchoHandler.class);
			assertThat(context.getBean(MeterRegistry.class).find("lf.messages").meters()).isEmpty();
		});
	}

	@ParameterizedTest
	@CsvSource({ "lf.client.exchanges, false", "lf.client, false", "lf.messages, true" })
	void exchangesAreTimedUnlessTheirOwnNameIsDisabled(String name, boolean timed) {
		this.contextRunner.withPropertyValues("management.observations.enable." + name + "=false")
			.run((context) -> assertThat(
					context.getBean("leaderFollowersExchangeObservation", ExchangeInterceptor.class).supports("ledger"))
				.isEqualTo(timed));
	}

	@Test
	void reasonIsLogged(CapturedOutput output) {
		Logger logger = (Logger) LoggerFactory.getLogger(MessageMeasurement.class);
		Level level = logger.getLevel();
		logger.setLevel(Level.DEBUG);
		try {
			this.contextRunner.withBean("tracing", ObservationHandler.class, Listener::new).run((context) -> {
			});
			assertThat(output).contains("Each message of server 'default' is an observation: "
					+ "there is the bean 'tracing' of type ObservationHandler");
			this.contextRunner.run((context) -> {
			});
			assertThat(output).contains("The messages of server 'default' are timed without observations");
		}
		finally {
			logger.setLevel(level);
		}
	}

	@Test
	void bothWaysMakeTheSameTimers() {
		isTheSameBothWays(this.contextRunner);
	}

	@Test
	void bothWaysHaveTheSameCommonKeyValues() {
		isTheSameBothWays(this.contextRunner.withPropertyValues("management.observations.key-values.region=north",
				"management.observations.key-values.server=other"));
	}

	@Test
	void bothWaysHaveTheSameCommonTagsAndFilters() {
		isTheSameBothWays(this.contextRunner.withPropertyValues("management.metrics.tags.application=shop")
			.withBean(MeterFilter.class, () -> MeterFilter.renameTag("lf.messages", "handler", "by")));
	}

	@Test
	void bothWaysHaveTheSameHistogram() {
		ApplicationContextRunner runner = this.contextRunner.withPropertyValues(
				"management.metrics.distribution.slo.lf.messages=1ms,1h",
				"management.metrics.distribution.percentiles.lf.messages=0.5,0.99");
		isTheSameBothWays(runner);
		runner.run((context) -> {
			ask(context, "hello");
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			awaitCount(registry, 1);
			Timer timer = registry.get("lf.messages").tag("outcome", "success").timer();
			assertThat(timer.takeSnapshot().percentileValues()).hasSize(2);
			assertThat(timer.takeSnapshot().histogramCounts()).extracting(CountAtBucket::count).contains(1.0);
		});
	}

	@Test
	void meterThatIsDisabledIsDisabledBothWays() {
		for (String mode : new String[] { "auto", "always" }) {
			this.contextRunner
				.withPropertyValues("management.metrics.enable.lf.messages=false", "lf.observation.mode=" + mode)
				.run((context) -> {
					ask(context, "hello");
					assertThat(context.getBean(MeterRegistry.class).find("lf.messages").meters()).isEmpty();
				});
		}
	}

	@Test
	void registryThatIsAddedLaterIsTimedIn() {
		this.contextRunner.withBean(CompositeMeterRegistry.class, CompositeMeterRegistry::new).run((context) -> {
			assertThat(decorated(context)).isInstanceOf(TimerInterceptor.class);
			CompositeMeterRegistry registry = context.getBean(CompositeMeterRegistry.class);
			SimpleMeterRegistry first = new SimpleMeterRegistry();
			registry.add(first);
			ask(context, "hello");
			// The client has the reply a moment before the message is counted.
			awaitCount(first, 1);
			SimpleMeterRegistry later = new SimpleMeterRegistry();
			registry.add(later);
			ask(context, "again");
			awaitCount(later, 1);
		});
	}

	@Test
	void registryThatFailsChangesNothingAboutTheMessages(CapturedOutput output) {
		this.contextRunner.withBean(MeterRegistry.class, FailingRegistry::new).run((context) -> {
			assertThat(decorated(context)).isInstanceOf(TimerInterceptor.class);
			try (LineClient client = client(context)) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				assertThat(client.ask("again")).isEqualTo("again");
				client.send("fail");
				assertThat(client.read()).isNull();
			}
			Awaitility.await()
				.untilAsserted(() -> assertThat(
						context.getBean(LeaderFollowersServers.class).get("default").snapshot().closedConnections())
					.containsEntry(CloseReason.HANDLER_ERROR, 1L));
		});
		assertThat(output).containsOnlyOnce("Messages cannot be timed");
		assertThat(output.getAll().lines()).noneMatch((line) -> line.contains("closed") && line.contains("no disk"));
	}

	@Test
	void exchangeIsTimedByTheClockOfTheRegistry() throws Exception {
		MockClock clock = new MockClock();
		MeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);
		ExchangeCall call = call(() -> clock.add(5, TimeUnit.MILLISECONDS));
		new ExchangeTimer(registry, KeyValues.of("region", "north")).aroundExchange(call);
		Timer timer = registry.get("lf.client.exchanges").tag("region", "north").timer();
		assertThat(timer.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(5);
	}

	@Test
	void registryThatFailsChangesNothingAboutTheExchanges(CapturedOutput output) throws Exception {
		MeterRegistry registry = new SimpleMeterRegistry();
		registry.config().meterFilter(MeterFilter.replaceTagValues("client", (value) -> {
			throw new IllegalStateException("on purpose");
		}));
		ExchangeTimer timer = new ExchangeTimer(registry, KeyValues.empty());
		for (int i = 0; i < 2; i++) {
			assertThat(timer.aroundExchange(call(() -> 0))).isEqualTo("reply");
		}
		assertThat(output).containsOnlyOnce("Exchanges cannot be timed; this is logged once");
	}

	@Test
	void failuresOfExchangesAreTimedByTheirCauseIfTheyHaveOne() throws Exception {
		MeterRegistry registry = new SimpleMeterRegistry();
		ExchangeCall call = call(() -> 0);
		given(call.proceed()).willReturn(
				CompletableFuture.failedFuture(new ExecutionException(new IllegalStateException())),
				CompletableFuture.failedFuture(new CompletionException("without a cause", null)));
		for (String error : new String[] { "IllegalStateException", "CompletionException" }) {
			new ExchangeTimer(registry, KeyValues.empty()).aroundExchange(call);
			assertThat(registry.get("lf.client.exchanges").tag("error", error).timer().count()).isEqualTo(1);
		}
	}

	/** A method that waits for its reply throws; one that returns a future does not. */
	@Test
	void exchangeWhoseMethodThrowsIsTimed() throws Exception {
		MeterRegistry registry = new SimpleMeterRegistry();
		ExchangeCall call = call(() -> 0);
		given(call.proceed()).willThrow(new IllegalStateException("on purpose"));
		assertThatIllegalStateException()
			.isThrownBy(() -> new ExchangeTimer(registry, KeyValues.empty()).aroundExchange(call))
			.withMessage("on purpose");
		assertThat(registry.get("lf.client.exchanges").tag("error", "IllegalStateException").timer().count())
			.isEqualTo(1);
	}

	@Test
	void carrierOfAMessageIsItsConnection() {
		Connection connection = mock();
		assertThat(new MessageObservationContext("default", "echo", connection).getCarrier()).isSameAs(connection);
	}

	@Test
	void outcomesOfExchangesAreThoseOfTheClient() throws Exception {
		assertThat(outcome(new ExchangeLostException("lost", null))).isEqualTo("lost");
		assertThat(outcome(new ExchangeRejectedException("rejected", null))).isEqualTo("rejected");
		assertThat(outcome(new CancellationException())).isEqualTo("cancelled");
	}

	private static String outcome(Throwable failure) throws Exception {
		ExchangeObservationContext context = new ExchangeObservationContext("ledger", Runnable.class.getMethod("run"),
				"request");
		context.setError(failure);
		assertThat(context.getCarrier()).isEqualTo("request");
		assertThat(context.getRemoteServiceName()).isEqualTo("ledger");
		// Called by tracers; the protocol has no place for a trace.
		context.getSetter().set("request", "traceparent", "00-1-2-3");
		return new DefaultExchangeObservationConvention().getLowCardinalityKeyValues(context)
			.stream()
			.filter((keyValue) -> keyValue.getKey().equals("outcome"))
			.findFirst()
			.orElseThrow()
			.getValue();
	}

	/** A bean may be the convention of two contexts, which name a server alike. */
	@Test
	void conventionThatHandlersShareNamesTheHandlerOfEachMessage() {
		DefaultMessageObservationConvention convention = new DefaultMessageObservationConvention();
		for (String handler : new String[] { "orders", "payments", "orders" }) {
			assertThat(convention
				.getLowCardinalityKeyValues(new MessageObservationContext("default", handler, mock(Connection.class))))
				.contains(KeyValue.of("handler", handler), KeyValue.of("server", "default"));
		}
	}

	@Test
	void conventionForExchangesIsFollowed() throws Exception {
		TestObservationRegistry registry = TestObservationRegistry.create();
		ExchangeObservationConvention convention = new DefaultExchangeObservationConvention() {

			@Override
			public String getName() {
				return "my.exchanges";
			}

		};
		new ExchangeMeasurement(registry, convention)
			.aroundExchange(call(() -> assertThat(registry.getCurrentObservation()).isNotNull()));
		TestObservationRegistryAssert.assertThat(registry)
			.hasSingleObservationThat()
			.hasNameEqualTo("my.exchanges")
			.hasBeenStopped();
	}

	@Test
	void conventionBeanForExchangesIsUsed() {
		ExchangeObservationConvention convention = new DefaultExchangeObservationConvention();
		this.contextRunner.withBean("convention", ExchangeObservationConvention.class, () -> convention)
			.run((context) -> assertThat(context.getBean(ExchangeInterceptor.class)).extracting("convention")
				.isSameAs(convention));
	}

	private static ExchangeCall call(Supplier<Object> meanwhile) throws Exception {
		ExchangeCall call = mock(ExchangeCall.class);
		given(call.client()).willReturn("ledger");
		given(call.method()).willReturn(Runnable.class.getMethod("run"));
		given(call.request()).willReturn("request");
		given(call.proceed()).will((invocation) -> {
			meanwhile.get();
			return "reply";
		});
		return call;
	}

	@Test
	void messageThatIsTimedAllocatesNothing() throws Exception {
		int messages = 10_000;
		MessageHandler timed = new TimerInterceptor("default", "echo", new SimpleMeterRegistry(), KeyValues.empty())
			.decorate((connection, message) -> message.clear(), "default", "echo");
		ByteBuffer message = ByteBuffer.allocate(64);
		ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
		long least = Long.MAX_VALUE;
		for (int round = 0; round < 10; round++) {
			long before = threads.getCurrentThreadAllocatedBytes();
			for (int i = 0; i < messages; i++) {
				timed.onMessage(null, message);
			}
			least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
		}
		assertThat(least).isLessThan(messages);
	}

	@Test
	void everyCallOfTheEngineIsPassedOn() {
		MessageHandler intercepted = new MessageHandlerInterceptor() {
		}.decorate(new EchoHandler(), "default", "echo");
		assertThat(MessageHandler.class.getMethods()).allSatisfy((method) -> assertThat(
				intercepted.getClass().getMethod(method.getName(), method.getParameterTypes()).getDeclaringClass())
			.isEqualTo(intercepted.getClass()));
	}

	private void isTheSameBothWays(ApplicationContextRunner runner) {
		Set<String> timed = new TreeSet<>();
		Set<String> observed = new TreeSet<>();
		runner.run(collectInto(timed));
		runner.withPropertyValues("lf.observation.mode=always").run(collectInto(observed));
		assertThat(timed).hasSizeGreaterThanOrEqualTo(2).isEqualTo(observed);
	}

	private static ContextConsumer<ApplicationContext> collectInto(Set<String> meters) {
		return (context) -> {
			ask(context, "hello");
			try (LineClient client = client(context)) {
				client.send("fail");
				assertThat(client.read()).isNull();
			}
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			Awaitility.await()
				.untilAsserted(() -> assertThat(registry.find("lf.messages").timers())
					.filteredOn((timer) -> timer.count() == 1)
					.hasSize(2));
			// The timer of active messages only exists if messages are observed.
			registry.getMeters()
				.stream()
				.filter((meter) -> meter.getId().getName().startsWith("lf.messages"))
				.filter((meter) -> !meter.getId().getName().startsWith("lf.messages.active"))
				.map(MessageMeasurementTests::describe)
				.forEach(meters::add);
		};
	}

	private static String describe(Meter meter) {
		String tags = meter.getId().getTags().stream().map(Tag::toString).collect(Collectors.joining());
		return meter.getId().getName() + tags + meter.getId().getType() + meter.getId().getBaseUnit();
	}

	private static void isObserved(ApplicationContextRunner runner) {
		runner.run((context) -> assertThat(decorated(context))
			.isInstanceOf(MessageMeasurement.ObservationInterceptor.class));
	}

	/** Returns the interceptor, or the handler itself if there is none. */
	private static Object decorated(ApplicationContext context) {
		MessageHandler handler = context.getBean("leaderFollowersObservationDecorator", MessageHandlerDecorator.class)
			.decorate(new EchoHandler(), "default", "echo");
		return (handler instanceof EchoHandler) ? handler
				: assertThat(handler).extracting("interceptor").isNotNull().actual();
	}

	private static void awaitCount(MeterRegistry registry, long count) {
		Awaitility.await()
			.untilAsserted(() -> assertThat(registry.get("lf.messages").tag("outcome", "success").timer().count())
				.isEqualTo(count));
	}

	private static void ask(ApplicationContext context, String line) throws Exception {
		try (LineClient client = client(context)) {
			assertThat(client.ask(line)).isEqualTo(line);
		}
	}

	private static LineClient client(ApplicationContext context) throws Exception {
		return new LineClient(context.getBean(LeaderFollowersServers.class).get("default").port());
	}

	private static ObservationRegistry registry() {
		ObservationRegistry registry = ObservationRegistry.create();
		registry.observationConfig().observationHandler(new Listener());
		return registry;
	}

	static class Listener implements ObservationHandler<Observation.Context> {

		@Override
		public boolean supportsContext(Observation.Context context) {
			return true;
		}

	}

	static class GlobalConvention implements GlobalObservationConvention<Observation.Context> {

		@Override
		public boolean supportsContext(Observation.Context context) {
			return true;
		}

		@Override
		public KeyValues getLowCardinalityKeyValues(Observation.Context context) {
			return KeyValues.of("global", "yes");
		}

	}

	/**
	 * Fails to record messages, and to register timers of failed ones.
	 */
	static class FailingRegistry extends SimpleMeterRegistry {

		@Override
		protected Timer newTimer(Meter.Id id, DistributionStatisticConfig distribution, PauseDetector pauses) {
			if (!id.getName().equals("lf.messages")) {
				return super.newTimer(id, distribution, pauses);
			}
			if ("error".equals(id.getTag("outcome"))) {
				throw new IllegalStateException("no disk");
			}
			return new CumulativeTimer(id, this.clock, distribution, pauses, getBaseTimeUnit(), false) {

				@Override
				protected void recordNonNegative(long amount, TimeUnit unit) {
					throw new IllegalStateException("no disk");
				}

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class PrimaryRegistry {

		@Bean
		@Primary
		ObservationRegistry primaryRegistry() {
			return registry();
		}

		@Bean
		ObservationRegistry otherRegistry() {
			return ObservationRegistry.create();
		}

	}

	static class FilterAndPredicate implements ObservationFilter, ObservationPredicate {

		@Override
		public Observation.Context map(Observation.Context context) {
			return context;
		}

		@Override
		public boolean test(String name, Observation.Context context) {
			return true;
		}

	}

}
