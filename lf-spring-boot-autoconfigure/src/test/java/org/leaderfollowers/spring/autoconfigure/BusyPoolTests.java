package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.Connection;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpoint;
import org.leaderfollowers.spring.actuate.PoolDescriptor;
import org.leaderfollowers.spring.actuate.PoolDescriptor.ThreadDescriptor;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A pool whose handlers block, as an operator sees it in the endpoint, in the meters and
 * in the log.
 */
@ExtendWith(OutputCaptureExtension.class)
class BusyPoolTests {

	/** Shorter periods without a leader are not logged. */
	private static final Duration WORTH_A_LINE = Duration.ofMillis(100);

	/** Enough to learn that a handler is short, even if some dispatches were not. */
	private static final int LESSONS = 500;

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersMetricsAutoConfiguration.class, LeaderFollowersEndpointAutoConfiguration.class,
				MetricsAutoConfiguration.class, CompositeMeterRegistryAutoConfiguration.class,
				SimpleMetricsExportAutoConfiguration.class))
		.withBean("gate", Gate.class)
		.withPropertyValues("lf.server.port=0", "management.endpoints.web.exposure.include=leaderfollowers");

	@Test
	void starvationIsSeenWhileItLasts(CapturedOutput output) {
		starve((context) -> {
			await().untilAsserted(() -> {
				PoolDescriptor pool = pool(context);
				assertThat(pool.leaderless().starvedFor()).isGreaterThan(WORTH_A_LINE);
				assertThat(pool.roles()).containsEntry(ThreadRole.PROCESSING, 2).containsEntry(ThreadRole.LEADER, 0);
				assertThat(pool.threads()).hasSize(2)
					.allSatisfy((thread) -> assertThat(thread.handler()).isEqualTo("gate"));
				assertThat(pool.handleSets()).singleElement().satisfies((set) -> assertThat(set.leader()).isNull());
			});
			await().untilAsserted(() -> assertThat(output).contains("Pool 'default' had no thread left",
					"Its threads (max 2) run: 2 x 'gate' of server 'default'"));
		}, (context) -> {
			// Only the first part has something to check.
		});
	}

	@Test
	void starvationIsCountedAndTimed() {
		starve((context) -> {
			await().until(() -> pool(context).leaderless().starvedFor().compareTo(WORTH_A_LINE) > 0);
		}, (context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			await().untilAsserted(() -> {
				PoolDescriptor pool = pool(context);
				assertThat(pool.leaderless().starvedFor()).isZero();
				assertThat(pool.leaderless().totalTime()).isGreaterThan(WORTH_A_LINE);
				assertThat(pool.leaderless().starvations()).isPositive();
				Timer leaderless = registry.get("lf.leaderless").tag("pool", "default").timer();
				assertThat(leaderless.max(TimeUnit.MILLISECONDS)).isGreaterThan(WORTH_A_LINE.toMillis());
				assertThat(leaderless.count()).isEqualTo(pool.leaderless().periods());
				assertThat(leaderless.totalTime(TimeUnit.NANOSECONDS))
					.isEqualTo(pool.leaderless().totalTime().toNanos());
				assertThat(starvations(registry)).isEqualTo(pool.leaderless().starvations());
			});
			SimpleMeterRegistry late = new SimpleMeterRegistry();
			context.getBean(PoolMetrics.class).bindTo(late);
			assertThat(starvations(late)).as("a registry that comes late").isEqualTo(starvations(registry));
			assertThat(late.get("lf.leaderless").timer().count()).isZero();
		});
	}

	@Test
	void leaseIsThatOfTheProperties() {
		this.contextRunner
			.withPropertyValues("lf.pool.promotion.lease=5ms", "lf.pools.slow.promotion.lease=1m",
					"lf.pools.usual.threads.max=8")
			.run((context) -> {
				LeaderFollowersPools pools = context.getBean(LeaderFollowersPools.class);
				assertThat(lease(pools.get("default"))).isEqualTo(Duration.ofMillis(5));
				assertThat(lease(pools.get("slow"))).isEqualTo(Duration.ofMinutes(1));
				assertThat(lease(pools.get("usual"))).isEqualTo(Duration.ofMillis(2));
				assertThat(pool(context).configuration().promotion().lease()).isEqualTo(Duration.ofMillis(5));
			});
	}

	@Test
	void leaderThatRunsAHandlerShowsIt() {
		// With such a lease, no thread takes over during the test.
		this.contextRunner
			.withPropertyValues("lf.pool.threads.min=2", "lf.pool.threads.max=2", "lf.pool.promotion.lease=1m")
			.run((context) -> {
				try (LineClient client = client(context)) {
					await().untilAsserted(() -> {
						learnThatTheHandlerIsShort(client);
						assertThat(whatRunsTheHandler(context, client)).satisfies((thread) -> {
							assertThat(thread.role()).isEqualTo(ThreadRole.LEADER);
							assertThat(thread.handler()).isEqualTo("gate");
							assertThat(thread.handle()).contains("server 'default'");
						});
					});
				}
			});
	}

	@Test
	void handlerThatBlocksIsTakenOverFromWhenTheLeaseEnds() {
		this.contextRunner
			.withPropertyValues("lf.pool.threads.min=2", "lf.pool.threads.max=2", "lf.pool.promotion.lease=100us")
			.run((context) -> {
				try (LineClient client = client(context); LineClient other = client(context)) {
					Gate gate = context.getBean(Gate.class);
					learnThatTheHandlerIsShort(client);
					client.send(Gate.BLOCK);
					gate.awaitBlocked(1);
					assertThat(other.ask("meanwhile")).isEqualTo("meanwhile");
					gate.open(1);
					assertThat(client.read()).isEqualTo(Gate.BLOCK);
				}
			});
	}

	/** All threads of a pool of two block, until the first part is over. */
	private void starve(Part during, Part afterwards) {
		this.contextRunner.withPropertyValues("lf.pool.threads.min=1", "lf.pool.threads.max=2").run((context) -> {
			Gate gate = context.getBean(Gate.class);
			try (LineClient one = client(context); LineClient two = client(context)) {
				one.send(Gate.BLOCK);
				two.send(Gate.BLOCK);
				gate.awaitBlocked(2);
				during.run(context);
				gate.open(2);
				assertThat(one.read()).isEqualTo(Gate.BLOCK);
				assertThat(two.read()).isEqualTo(Gate.BLOCK);
				afterwards.run(context);
			}
			finally {
				gate.open(2);
			}
		});
	}

	private static void learnThatTheHandlerIsShort(LineClient client) throws Exception {
		for (int i = 0; i < LESSONS; i++) {
			assertThat(client.ask("hello")).isEqualTo("hello");
		}
	}

	private static ThreadDescriptor whatRunsTheHandler(BeanFactory context, LineClient client) throws Exception {
		Gate gate = context.getBean(Gate.class);
		client.send(Gate.BLOCK);
		gate.awaitBlocked(1);
		List<ThreadDescriptor> running = pool(context).threads()
			.stream()
			.filter((thread) -> thread.handle() != null)
			.toList();
		gate.open(1);
		assertThat(client.read()).isEqualTo(Gate.BLOCK);
		assertThat(running).hasSize(1);
		return running.get(0);
	}

	private static ConditionFactory await() {
		return Awaitility.await();
	}

	private static LineClient client(BeanFactory context) throws Exception {
		return new LineClient(context.getBean(LeaderFollowersServers.class).get("default").port());
	}

	private static PoolDescriptor pool(BeanFactory context) {
		PoolDescriptor pool = context.getBean(LeaderFollowersEndpoint.class).pool("default");
		assertThat(pool).isNotNull();
		return pool;
	}

	private static Duration lease(LeaderFollowersPool pool) {
		return pool.snapshot().promotionLease();
	}

	private static long starvations(MeterRegistry registry) {
		return (long) registry.get("lf.starvations").tag("pool", "default").functionCounter().count();
	}

	@FunctionalInterface
	private interface Part {

		void run(BeanFactory context) throws Exception;

	}

	/**
	 * Answers at once, except when it is asked to block.
	 */
	@LfHandler
	static class Gate implements MessageHandler {

		private static final String BLOCK = "block";

		private final Semaphore blocked = new Semaphore(0);

		private final Semaphore passes = new Semaphore(0);

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			if (StandardCharsets.UTF_8.decode(message.duplicate()).toString().equals(BLOCK)) {
				this.blocked.release();
				this.passes.acquire();
			}
			connection.send(message);
		}

		void awaitBlocked(int handlers) throws InterruptedException {
			assertThat(this.blocked.tryAcquire(handlers, 60, TimeUnit.SECONDS)).isTrue();
		}

		void open(int handlers) {
			this.passes.release(handlers);
		}

	}

}
