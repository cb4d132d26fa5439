package org.leaderfollowers.benchmarks.jmh;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;

import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.observation.ObservedMessageHandler;
import org.leaderfollowers.spring.observation.TimedMessageHandler;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What it costs to measure a message: by a timer, or by an observation that nothing but
 * meters listen to.
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

	private final MessageHandler timed;

	private final MessageHandler observed;

	public MessageMetersBenchmark() {
		MeterRegistry meters = new SimpleMeterRegistry();
		ObservationRegistry observations = ObservationRegistry.create();
		observations.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
		this.timed = new TimedMessageHandler(this.plain, "default", "echo", meters, KeyValues.empty());
		this.observed = new ObservedMessageHandler(this.plain, "default", "echo", observations, null);
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
