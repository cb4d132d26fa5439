package org.leaderfollowers.spring.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.TimeUnit;

/**
 * Registers meters that read something of ours, and takes them away again.
 */
final class Meters {

	/** Refers to what the meters read: they do so weakly themselves. */
	private final List<Registered> registered = new ArrayList<>();

	/**
	 * What meters are registered for.
	 * @param registry where
	 * @param source what all of them read
	 */
	<T, S> Reader<T, S> of(MeterRegistry registry, RecentSnapshot<T, S> source, Tags tags) {
		return new Reader<>(registry, source, tags);
	}

	private synchronized void add(MeterRegistry registry, Meter meter, Object source) {
		this.registered.add(new Registered(registry, meter, source));
	}

	/**
	 * Removes the meters from registries that outlive this application context. A
	 * registry that is closed publishes what it has for the last time.
	 */
	synchronized void remove() {
		for (Registered meter : this.registered) {
			if (!meter.registry().isClosed()) {
				meter.registry().remove(meter.meter());
			}
		}
		this.registered.clear();
	}

	private record Registered(MeterRegistry registry, Meter meter, Object source) {
	}

	/**
	 * Registers meters of one source.
	 */
	final class Reader<T, S> {

		private final MeterRegistry registry;

		private final RecentSnapshot<T, S> source;

		private final Tags tags;

		private Reader(MeterRegistry registry, RecentSnapshot<T, S> source, Tags tags) {
			this.registry = registry;
			this.source = source;
			this.tags = tags;
		}

		Reader<T, S> and(String key, String value) {
			return new Reader<>(this.registry, this.source, this.tags.and(key, value));
		}

		void gauge(String name, String description, ToDoubleFunction<S> number) {
			gauge(name, null, description, number);
		}

		void gauge(String name, @Nullable String baseUnit, String description, ToDoubleFunction<S> number) {
			keep(Gauge.builder(name, this.source, this.source.value(number))
				.baseUnit(baseUnit)
				.description(description)
				.tags(this.tags)
				.register(this.registry));
		}

		void duration(String name, String description, ToDoubleFunction<S> nanos) {
			keep(TimeGauge.builder(name, this.source, TimeUnit.NANOSECONDS, this.source.value(nanos))
				.description(description)
				.tags(this.tags)
				.register(this.registry));
		}

		void counter(String name, String description, ToDoubleFunction<S> number) {
			counter(name, null, description, number);
		}

		void counter(String name, @Nullable String baseUnit, String description, ToDoubleFunction<S> number) {
			keep(FunctionCounter.builder(name, this.source, this.source.count(number))
				.baseUnit(baseUnit)
				.description(description)
				.tags(this.tags)
				.register(this.registry));
		}

		private void keep(Meter meter) {
			add(this.registry, meter, this.source);
		}

	}

}
