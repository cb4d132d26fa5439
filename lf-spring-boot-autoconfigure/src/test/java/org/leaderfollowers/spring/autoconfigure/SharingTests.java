package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

import io.micrometer.core.instrument.MeterRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.IdleMachine;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpoint;
import org.leaderfollowers.spring.actuate.PoolDescriptor;
import org.leaderfollowers.spring.actuate.PoolDescriptor.SharingDescriptor;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Threads that share the ready handles of a handle set, as an operator sees them in the
 * endpoint and in the meters.
 */
class SharingTests {

	private static final int CLIENTS = 40;

	/** Enough to learn that the handler is short, even if some dispatches were not. */
	private static final int LESSONS = 500;

	/** With such a lease, no thread takes over during the test. */
	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersMetricsAutoConfiguration.class, LeaderFollowersEndpointAutoConfiguration.class,
				MetricsAutoConfiguration.class, CompositeMeterRegistryAutoConfiguration.class,
				SimpleMetricsExportAutoConfiguration.class))
		.withBean("gate", Gate.class)
		.withBean(IdleMachine.class)
		.withPropertyValues("lf.server.port=0", "lf.pool.handle-sets=1", "lf.pool.promotion.lease=1m",
				"management.endpoints.web.exposure.include=leaderfollowers");

	@Test
	void parallelismIsThatOfTheProperties() {
		this.contextRunner.run((context) -> assertThat(pool(context).configuration().parallelism())
			.isEqualTo(Runtime.getRuntime().availableProcessors()));
		this.contextRunner.withPropertyValues("lf.pool.parallelism=7")
			.run((context) -> assertThat(pool(context).configuration().parallelism()).isEqualTo(7));
	}

	@Test
	void threadsThatAreWokenToShareAreCountedWithTheReason() {
		this.contextRunner.withPropertyValues("lf.pool.parallelism=4").run((context) -> {
			Instant before = Instant.now();
			assertThat(sharing(context)).isEqualTo(new SharingDescriptor(0, 0, 0, null));
			try (Clients clients = new Clients(context)) {
				Awaitility.await().pollDelay(Duration.ZERO).untilAsserted(() -> {
					clients.sendAtOnce();
					assertThat(sharing(context).events()).isPositive();
					assertThat(sharing(context).latest()).isNotNull();
				});
			}
			Awaitility.await().untilAsserted(() -> assertThat(sharing(context).threads()).isZero());
			SharingDescriptor sharing = sharing(context);
			assertThat(sharing.reliefs()).isPositive();
			assertThat(sharing.latest()).isNotNull().satisfies((latest) -> {
				assertThat(latest.time()).isBetween(before, Instant.now());
				assertThat(latest.ready()).isPositive();
				assertThat(latest.work()).isGreaterThan(latest.wakeUp());
				assertThat(latest.wakeUp()).isPositive();
				assertThat(latest.reason()).startsWith(latest.ready() + " handle").contains(" ready");
			});
			// The ends of the connections may be shared as well.
			Awaitility.await().untilAsserted(() -> {
				assertThat(counter(context, "lf.pool.reliefs")).isEqualTo(sharing(context).reliefs());
				assertThat(counter(context, "lf.events.shared")).isEqualTo(sharing(context).events());
			});
		});
	}

	@Test
	void withAParallelismOfOneNoThreadIsWokenToShare() {
		this.contextRunner.withPropertyValues("lf.pool.parallelism=1").run((context) -> {
			try (Clients clients = new Clients(context)) {
				clients.sendAtOnce();
				clients.sendAtOnce();
			}
			assertThat(sharing(context).reliefs()).isZero();
			assertThat(sharing(context).latest()).isNull();
			assertThat(counter(context, "lf.pool.reliefs")).isZero();
		});
	}

	private static PoolDescriptor pool(BeanFactory context) {
		PoolDescriptor pool = context.getBean(LeaderFollowersEndpoint.class).pool("default");
		assertThat(pool).isNotNull();
		return pool;
	}

	private static SharingDescriptor sharing(BeanFactory context) {
		return pool(context).handleSets().get(0).sharing();
	}

	private static double counter(BeanFactory context, String name) {
		return context.getBean(MeterRegistry.class).get(name).tag("pool", "default").functionCounter().count();
	}

	/**
	 * Clients whose messages are all waiting when the leader looks for them.
	 */
	private static final class Clients implements AutoCloseable {

		private final Gate gate;

		private final LineClient first;

		private final List<LineClient> others = new ArrayList<>();

		Clients(BeanFactory context) throws Exception {
			this.gate = context.getBean(Gate.class);
			int port = context.getBean(LeaderFollowersServers.class).get("default").port();
			this.first = new LineClient(port);
			for (int i = 0; i < CLIENTS; i++) {
				LineClient other = new LineClient(port);
				this.others.add(other);
				assertThat(other.ask("hello")).isEqualTo("hello");
			}
			for (int i = 0; i < LESSONS; i++) {
				assertThat(this.first.ask("hello")).isEqualTo("hello");
			}
		}

		void sendAtOnce() throws Exception {
			this.first.send("wait");
			this.gate.awaitWaiting();
			for (LineClient other : this.others) {
				other.send("hello");
			}
			this.gate.open();
			assertThat(this.first.read()).isEqualTo("wait");
			for (LineClient other : this.others) {
				assertThat(other.read()).isEqualTo("hello");
			}
		}

		@Override
		public void close() throws Exception {
			this.first.close();
			for (LineClient other : this.others) {
				other.close();
			}
		}

	}

	/**
	 * Echoes after some microseconds of work, except for messages that begin with
	 * {@code w}: they wait until the gate is open.
	 */
	@LfHandler
	static class Gate implements MessageHandler {

		private static final long WORK_NANOS = TimeUnit.MICROSECONDS.toNanos(20);

		private final Semaphore waiting = new Semaphore(0);

		private final Semaphore passes = new Semaphore(0);

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			if (message.get(message.position()) == 'w') {
				this.waiting.release();
				this.passes.acquire();
			}
			long end = System.nanoTime() + WORK_NANOS;
			while (System.nanoTime() - end < 0) {
				Thread.onSpinWait();
			}
			connection.send(message);
		}

		void awaitWaiting() throws InterruptedException {
			assertThat(this.waiting.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
		}

		void open() {
			this.passes.release();
		}

	}

}
