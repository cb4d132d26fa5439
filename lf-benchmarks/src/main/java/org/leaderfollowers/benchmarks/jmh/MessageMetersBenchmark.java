package org.leaderfollowers.benchmarks.jmh;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersObservationAutoConfiguration;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;

/**
 * The cost of measuring a message: by a timer, or by an observation that only meters
 * listen to.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class MessageMetersBenchmark {

	private final ByteBuffer message = ByteBuffer.allocate(64);

	private final Connection connection = (Connection) Proxy.newProxyInstance(Connection.class.getClassLoader(),
			new Class<?>[] { Connection.class }, (proxy, method, arguments) -> 1L);

	private final MessageHandler plain = (from, content) -> content.position(content.limit());

	private final MessageHandler timed = measured("never");

	private final MessageHandler observed = measured("always");

	/** Measures the handler as an application does. */
	private MessageHandler measured(String mode) {
		AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
		context.getEnvironment()
			.getPropertySources()
			.addFirst(new MapPropertySource("benchmark", Map.of("lf.observation.mode", mode)));
		context.registerBean(MeterRegistry.class, () -> new SimpleMeterRegistry());
		context.register(MetricsAutoConfiguration.class, ObservationAutoConfiguration.class,
				LeaderFollowersAutoConfiguration.class, LeaderFollowersObservationAutoConfiguration.class);
		context.refresh();
		return context.getBean("leaderFollowersObservationDecorator", MessageHandlerDecorator.class)
			.decorate(this.plain, "default", "echo");
	}

	@Benchmark
	public void notMeasured() throws Exception {
		this.plain.onMessage(this.connection, this.message);
	}

	@Benchmark
	public void timed() throws Exception {
		this.timed.onMessage(this.connection, this.message);
	}

	@Benchmark
	public void observed() throws Exception {
		this.observed.onMessage(this.connection, this.message);
	}

}
