package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.EventSource;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.EventSourceSnapshot;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Beans of type {@link EventSource}, and the handlers of their events.
 */
@ExtendWith(OutputCaptureExtension.class)
class EventSourceTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersMetricsAutoConfiguration.class));

	private static EventSourceSnapshot source(ApplicationContext context, String pool) {
		PoolSnapshot snapshot = context.getBean(LeaderFollowersPools.class).get(pool).snapshot();
		assertThat(snapshot.eventSources()).hasSize(1);
		return snapshot.eventSources().get(0);
	}

	private static void await(ThrowingRunnable assertion) {
		Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(assertion);
	}

	// Valid configurations

	@Test
	void annotatedMethodHandlesTheEventsOfAQueue() {
		this.contextRunner.withUserConfiguration(Words.class, WordMethod.class).run((context) -> {
			assertThat(context).hasNotFailed();
			Queues queues = context.getBean(Queues.class);
			queues.words().addAll(List.of("a", "b"));
			assertThat(queues.handled().poll(60, TimeUnit.SECONDS)).isIn("a", "b");
			assertThat(queues.handled().poll(60, TimeUnit.SECONDS)).isIn("a", "b");
			await(() -> {
				EventSourceSnapshot source = source(context, "default");
				assertThat(source.name()).isEqualTo("words");
				assertThat(source.leader()).startsWith("lf-default-");
				assertThat(source.events()).isEqualTo(2);
			});
		});
	}

	@Test
	void theHandlerInterfaceHandlesTheElementsOfADelayQueue() {
		this.contextRunner.withUserConfiguration(Alarms.class).run((context) -> {
			context.getBean(Queues.class).alarms().add(new Alarm("wake up", System.nanoTime() + 50_000_000));
			assertThat(context.getBean(Queues.class).handled().poll(60, TimeUnit.SECONDS)).isEqualTo("wake up");
		});
	}

	@Test
	void poolAndConcurrencyAreProperties() {
		this.contextRunner.withUserConfiguration(Words.class, Blocking.class)
			.withPropertyValues("lf.sources.words.pool=side", "lf.sources.words.concurrency=2",
					"lf.pools.side.threads.min=3", "lf.pools.side.threads.max=20")
			.run((context) -> {
				Queues queues = context.getBean(Queues.class);
				queues.words().addAll(List.of("a", "b", "c", "d"));
				await(() -> assertThat(source(context, "side").handling()).isEqualTo(2));
				assertThat(queues.words()).hasSize(2);
				assertThat(context.getBean(LeaderFollowersPools.class).get("side").snapshot().runningHandlers())
					.singleElement()
					.hasToString("2 x 'blocking'");
				assertThat(context.getBean(LeaderFollowersPools.class).get("default").snapshot().eventSources())
					.isEmpty();
				queues.gate().countDown();
				for (int i = 0; i < 4; i++) {
					assertThat(queues.handled().poll(60, TimeUnit.SECONDS)).isNotNull();
				}
			});
	}

	@Test
	void eventsAndMessagesAreHandledByOnePool() {
		this.contextRunner.withUserConfiguration(Words.class, WordMethod.class, Echo.class)
			.withPropertyValues("lf.server.port=0", "lf.pool.threads.min=2", "lf.pool.threads.max=2")
			.run((context) -> {
				int port = context.getBean(LeaderFollowersServers.class).get("default").port();
				try (LineClient client = new LineClient(port)) {
					for (int i = 0; i < 50; i++) {
						context.getBean(Queues.class).words().add("word");
						client.send("hello");
						assertThat(client.read()).isEqualTo("hello");
						assertThat(context.getBean(Queues.class).handled().poll(60, TimeUnit.SECONDS))
							.isEqualTo("word");
					}
				}
			});
	}

	@Test
	void failuresAreCounted() {
		this.contextRunner.withUserConfiguration(Words.class, Failing.class)
			.withBean(MeterRegistry.class, SimpleMeterRegistry::new)
			.run((context) -> {
				context.getBean(Queues.class).words().add("a");
				await(() -> assertThat(source(context, "default").handlerFailures()).isEqualTo(1));
				MeterRegistry registry = context.getBean(MeterRegistry.class);
				await(() -> {
					assertThat(registry.get("lf.source.events")
						.tags("pool", "default", "source", "words")
						.functionCounter()
						.count()).isEqualTo(1);
					assertThat(registry.get("lf.source.failures").tag("kind", "handler").functionCounter().count())
						.isEqualTo(1);
					assertThat(registry.get("lf.source.failures").tag("kind", "source").functionCounter().count())
						.isZero();
					assertThat(registry.get("lf.source.handling").gauge().value()).isZero();
				});
			});
	}

	@Test
	void poolThatIsABeanIsBuiltForItsSources() {
		this.contextRunner.withUserConfiguration(Words.class, WordMethod.class)
			.withBean("pool", LeaderFollowersPool.class,
					() -> LeaderFollowersPool.builder().name("own").eventSources("words").build())
			.withPropertyValues("lf.sources.words.pool=own")
			.run((context) -> {
				context.getBean(Queues.class).words().add("a");
				assertThat(context.getBean(Queues.class).handled().poll(60, TimeUnit.SECONDS)).isEqualTo("a");
				assertThat(source(context, "own").events()).isEqualTo(1);
			});
	}

	// The lifecycle of a context

	@Test
	void eventsAreTakenWhileTheContextRuns() {
		this.contextRunner.withUserConfiguration(Words.class, WordMethod.class).run((context) -> {
			Queues queues = context.getBean(Queues.class);
			context.getSourceApplicationContext().stop();
			queues.words().add("late");
			await(() -> assertThat(source(context, "default").leader()).isNull());
			assertThat(source(context, "default").inUse()).isFalse();
			assertThat(queues.words()).hasSize(1);
			context.getSourceApplicationContext().start();
			assertThat(queues.handled().poll(60, TimeUnit.SECONDS)).isEqualTo("late");
		});
	}

	@Test
	void theEndOfTheContextWaitsForHandlers() {
		BlockingQueue<String> handled = new LinkedBlockingQueue<>();
		this.contextRunner.withUserConfiguration(Words.class, Blocking.class).run((context) -> {
			Queues queues = context.getBean(Queues.class);
			queues.words().add("a");
			await(() -> assertThat(source(context, "default").handling()).isEqualTo(1));
			Thread closing = new Thread(context::close);
			closing.start();
			await(() -> assertThat(source(context, "default").inUse()).isFalse());
			queues.gate().countDown();
			closing.join();
			queues.handled().drainTo(handled);
		});
		assertThat(handled).containsExactly("a");
	}

	/** Handlers may need what is stopped then, such as a pool of database connections. */
	@Test
	void handlersEndBeforeTheNextPhaseStops() {
		List<String> steps = new CopyOnWriteArrayList<>();
		this.contextRunner.withUserConfiguration(Words.class, Blocking.class)
			.withBean(SmartLifecycle.class, () -> new NextPhase(() -> steps.add("next phase")))
			.run((context) -> {
				Queues queues = context.getBean(Queues.class);
				queues.words().add("a");
				await(() -> assertThat(source(context, "default").handling()).isEqualTo(1));
				Thread closing = new Thread(context::close);
				closing.start();
				await(() -> assertThat(Thread.getAllStackTraces()).anySatisfy((thread, stack) -> {
					assertThat(thread.getName()).isEqualTo("lf-event-sources");
					assertThat(thread.isDaemon()).isTrue();
					assertThat(stack).anyMatch((frame) -> frame.getMethodName().equals("deregister"));
				}));
				assertThat(steps).isEmpty();
				queues.gate().countDown();
				closing.join();
				assertThat(queues.handled()).containsExactly("a");
			});
		assertThat(steps).containsExactly("next phase");
	}

	/** Spring calls this if it ends its beans one after the other. */
	@Test
	void theLifecycleStopsWithoutACallback() {
		this.contextRunner.withUserConfiguration(Words.class, WordMethod.class).run((context) -> {
			context.getBean("leaderFollowersEventSourceLifecycle", SmartLifecycle.class).stop();
			await(() -> assertThat(source(context, "default").inUse()).isFalse());
		});
	}

	/** Otherwise a shutdown would take as long as its phase may. */
	@Test
	void theLifecycleSaysAtOnceThatNoHandlerRuns() {
		this.contextRunner.withUserConfiguration(Words.class, WordMethod.class).run((context) -> {
			CountDownLatch stopped = new CountDownLatch(1);
			context.getBean("leaderFollowersEventSourceLifecycle", SmartLifecycle.class).stop(stopped::countDown);
			assertThat(stopped.await(60, TimeUnit.SECONDS)).isTrue();
		});
	}

	@Test
	void noThreadWaitsOnASourceThatIsDestroyed() {
		AtomicReference<PoolSnapshot.State> whenDestroyed = new AtomicReference<>();
		this.contextRunner.withBean(Queues.class)
			.withUserConfiguration(Closing.class, WordMethod.class)
			.run((context) -> {
				LeaderFollowersPool pool = context.getBean(LeaderFollowersPools.class).get("default");
				context.getBean(ClosingSource.class).onDestroy = () -> whenDestroyed.set(pool.snapshot().state());
			});
		assertThat(whenDestroyed.get()).isEqualTo(PoolSnapshot.State.STOPPED);
	}

	// Invalid configurations

	@Test
	void handlerOfAnUnknownSource(CapturedOutput output) {
		FailingApplication.run(WrongName.class);
		assertThat(output)
			.contains("is annotated with @LfHandler(source = \"wrods\"), but there is no such event source. "
					+ "Known event sources: words.")
			.contains("Did you mean 'words'? To have an event source 'wrods', define a bean of type "
					+ "org.leaderfollowers.EventSource that has this name.");
	}

	@Test
	void aChildContextHasThePropertiesOfTheSourcesOfItsParent() {
		this.contextRunner.withUserConfiguration(Words.class, Blocking.class)
			.withPropertyValues("lf.sources.words.concurrency=2")
			.run((parent) -> {
				this.contextRunner.withParent(parent)
					.withPropertyValues("lf.sources.words.concurrency=2")
					.run((child) -> assertThat(child).hasNotFailed());
				parent.getBean(Queues.class).gate().countDown();
			});
	}

	@Test
	void propertyOfAnUnknownSource(CapturedOutput output) {
		FailingApplication.run(Handled.class, "lf.sources.wrods.concurrency=1");
		assertThat(output).contains(
				"The property 'lf.sources.wrods' is for the event source 'wrods', but there is no such event source.");
	}

	@Test
	void sourceWithoutAHandler(CapturedOutput output) {
		FailingApplication.run(Words.class);
		assertThat(output).contains(
				"Event source 'words' has no handler for its events. It is the bean 'words', defined by method 'words'")
			.contains("@LfHandler(source = \"words\")");
	}

	@Test
	void twoHandlersOfOneSource(CapturedOutput output) {
		FailingApplication.run(TwoHandlers.class);
		assertThat(output).contains("Event source 'words' must have one handler, but there are 2:");
	}

	@Test
	void handlerThatCannotHandleTheEvents(CapturedOutput output) {
		FailingApplication.run(WrongType.class);
		assertThat(output).contains(
				"Method count(Integer) takes events of type java.lang.Integer, but those of the source are of type java.lang.String.");
		FailingApplication.run(WrongInterface.class);
		assertThat(output)
			.contains("takes events of type java.lang.Long, but those of the source are of type java.lang.String.");
	}

	@Test
	void methodsThatAreNotForEvents(CapturedOutput output) {
		FailingApplication.run(WrongMethods.class);
		assertThat(output).contains(
				"must have one annotated method, with @OnMessage, or implement EventSource.Handler, to handle the events of a source; it has ");
		FailingApplication.run(WrongSignature.class);
		assertThat(output).contains("returns a value, but an event is not replied to")
			.contains("must have one parameter, the event")
			.contains("has a prefix or type, which events do not have");
	}

	@Test
	void poolWithTooFewThreads(CapturedOutput output) {
		FailingApplication.run(Handled.class, "lf.pool.threads.min=2", "lf.pool.handle-sets=2");
		assertThat(output).contains("lf.pool.threads.min")
			.contains("Must be at least 3: each handle set and each event source (words) needs a thread to lead it.");
	}

	@Test
	void unknownPoolAndImpossibleConcurrency(CapturedOutput output) {
		FailingApplication.run(Handled.class, "lf.sources.words.pool=unknown");
		assertThat(output).contains("The property 'lf.sources.words.pool' names the pool 'unknown'");
		FailingApplication.run(Handled.class, "lf.sources.words.concurrency=0");
		assertThat(output).contains("lf.sources.words.concurrency").contains("Must be at least 1.");
	}

	@Test
	void poolThatIsABeanAndKnowsNothingOfTheSource(CapturedOutput output) {
		FailingApplication.run(OwnPool.class);
		assertThat(output).contains("Pool 'default' was not built for an event source named 'words'");
	}

	record Queues(BlockingQueue<String> words, DelayQueue<Alarm> alarms, BlockingQueue<String> handled,
			CountDownLatch gate) {

		Queues() {
			this(new LinkedBlockingQueue<>(), new DelayQueue<>(), new LinkedBlockingQueue<>(), new CountDownLatch(1));
		}

	}

	record Alarm(String name, long nanos) implements Delayed {

		@Override
		public long getDelay(TimeUnit unit) {
			return unit.convert(this.nanos - System.nanoTime(), TimeUnit.NANOSECONDS);
		}

		@Override
		public int compareTo(Delayed other) {
			return Long.signum(this.nanos - ((Alarm) other).nanos);
		}

	}

	private record NextPhase(Runnable onStop) implements SmartLifecycle {

		@Override
		public void start() {
		}

		@Override
		public void stop() {
			this.onStop.run();
		}

		@Override
		public boolean isRunning() {
			return true;
		}

		@Override
		public int getPhase() {
			return SmartLifecycle.DEFAULT_PHASE - 1025;
		}

	}

	static final class ClosingSource implements EventSource<String>, DisposableBean {

		private final EventSource<String> words;

		private volatile Runnable onDestroy = () -> {
		};

		ClosingSource(Queues queues) {
			this.words = EventSource.of(queues.words());
		}

		@Override
		public @Nullable String await(Duration timeout) throws Exception {
			return this.words.await(timeout);
		}

		@Override
		public void wakeup() {
			this.words.wakeup();
		}

		@Override
		public void destroy() {
			this.onDestroy.run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Closing {

		/** Created after the pools, so Spring would destroy it before them. */
		@Bean
		@Lazy
		ClosingSource words(Queues queues) {
			return new ClosingSource(queues);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Words {

		@Bean
		Queues queues() {
			return new Queues();
		}

		@Bean
		EventSource<String> words(Queues queues) {
			return EventSource.of(queues.words());
		}

	}

	@LfHandler(source = "words")
	static class WordMethod {

		private final Queues queues;

		WordMethod(Queues queues) {
			this.queues = queues;
		}

		@OnMessage
		void handle(String word) {
			this.queues.handled().add(word);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ Words.class, WordMethod.class })
	static class Handled {

	}

	@Configuration(proxyBeanMethods = false)
	static class Blocking {

		@Bean
		@LfHandler(source = "words")
		EventSource.Handler<String> blocking(Queues queues) {
			return (word) -> {
				if (queues.gate().await(60, TimeUnit.SECONDS)) {
					queues.handled().add(word);
				}
			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Failing {

		@Bean
		@LfHandler(source = "words")
		EventSource.Handler<String> failing() {
			return (word) -> {
				throw new IllegalStateException("failed on purpose");
			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Alarms {

		@Bean
		Queues queues() {
			return new Queues();
		}

		@Bean
		EventSource<Alarm> alarms(Queues queues) {
			return EventSource.of(queues.alarms());
		}

		@Bean
		@LfHandler(source = "alarms")
		AlarmHandler handler(Queues queues) {
			return new AlarmHandler(queues);
		}

	}

	record AlarmHandler(Queues queues) implements EventSource.Handler<Alarm> {

		@Override
		public void handleEvent(Alarm alarm) {
			this.queues.handled().add(alarm.name());
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Echo {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return (connection, message) -> connection.send(message);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Words.class)
	static class WrongName {

		@Bean
		@LfHandler(source = "wrods")
		EventSource.Handler<String> handler() {
			return (word) -> {
			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ Handled.class, Failing.class })
	static class TwoHandlers {

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ Words.class, Counter.class })
	static class WrongType {

	}

	@LfHandler(source = "words")
	static class Counter {

		@OnMessage
		void count(Integer number) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ Words.class, LongHandler.class })
	static class WrongInterface {

	}

	@LfHandler(source = "words")
	static class LongHandler implements EventSource.Handler<Long> {

		@Override
		public void handleEvent(Long number) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ Words.class, Opening.class })
	static class WrongMethods {

	}

	@LfHandler(source = "words")
	static class Opening {

		@OnOpen
		void opened() {
		}

		@OnMessage
		void handle(String word) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ Words.class, Replying.class })
	static class WrongSignature {

	}

	@LfHandler(source = "words")
	static class Replying {

		@OnMessage(prefix = "x")
		String handle(String word, String other) {
			return word;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Handled.class)
	static class OwnPool {

		@Bean
		LeaderFollowersPool pool() {
			return LeaderFollowersPool.builder().build();
		}

	}

}
