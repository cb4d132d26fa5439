package org.leaderfollowers.spring.autoconfigure;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import org.jspecify.annotations.Nullable;

/** Registers meters that read snapshots, and removes them again. */
final class Meters {

	/** Keeps the sources alive, because meters refer to them only weakly. */
	private final List<Registered> registered = new ArrayList<>();

	private final Set<MeterRegistry> bound = new HashSet<>();

	/**
	 * Records that the meters are registered in a registry.
	 * @return {@code false} if they were registered there before
	 */
	synchronized boolean bindTo(MeterRegistry registry) {
		return this.bound.add(registry);
	}

	/**
	 * Begins to register the meters of one source.
	 * @param registry the registry
	 * @param source finds the object to take snapshots of
	 * @param snapshots takes a snapshot, which meters share if they are read at the same
	 * time
	 * @param tags the tags of all meters
	 */
	<T, S> Reader<T, S> of(MeterRegistry registry, Supplier<T> source, Function<T, S> snapshots, Tags tags) {
		return new Reader<>(registry, new RecentSnapshot<>(source, snapshots), tags);
	}

	/** Converts a constant of the engine to the value of a tag. */
	static String tag(Enum<?> constant) {
		return constant.name().toLowerCase(Locale.ROOT);
	}

	private synchronized void add(MeterRegistry registry, Meter meter, Object source) {
		this.registered.add(new Registered(registry, meter, source));
	}

	/**
	 * Removes the meters from registries that outlive this application context. A
	 * registry that is closed publishes its meters for the last time.
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

	/** Registers the meters of one source. */
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

	/**
	 * A snapshot for all meters that are read at the same time. The source may be
	 * replaced, for example if a server is stopped and started again. Earlier counts are
	 * then added to the new ones, so that counters never decrease.
	 *
	 * @param <T> the type of the object that snapshots are taken of
	 * @param <S> the type of the snapshot
	 */
	private static final class RecentSnapshot<T, S> {

		private static final long MAX_AGE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

		private final Supplier<T> source;

		private final Function<T, S> snapshots;

		private @Nullable T current;

		/** The latest snapshot of the source before the current one, or {@code null}. */
		private @Nullable S ended;

		private long endings;

		private @Nullable S snapshot;

		private long takenNanos;

		RecentSnapshot(Supplier<T> source, Function<T, S> snapshots) {
			this.source = source;
			this.snapshots = snapshots;
		}

		synchronized S get() {
			S recent = this.snapshot;
			T now = this.source.get();
			long nanos = System.nanoTime();
			if (recent == null || now != this.current || nanos - this.takenNanos > MAX_AGE_NANOS) {
				if (this.current != null && now != this.current) {
					this.ended = this.snapshots.apply(this.current);
					this.endings++;
				}
				recent = this.snapshots.apply(now);
				this.current = now;
				this.snapshot = recent;
				this.takenNanos = nanos;
			}
			return recent;
		}

		/** Returns a function for a meter that reads a number without changes. */
		ToDoubleFunction<RecentSnapshot<T, S>> value(ToDoubleFunction<S> number) {
			return (recent) -> number.applyAsDouble(recent.get());
		}

		/** Returns a function for a meter that reads a number that only increases. */
		ToDoubleFunction<RecentSnapshot<T, S>> count(ToDoubleFunction<S> number) {
			return new Count(number);
		}

		/**
		 * A number that only increases. Two replacements between two reads count as one.
		 */
		private final class Count implements ToDoubleFunction<RecentSnapshot<T, S>> {

			private final ToDoubleFunction<S> number;

			private double before;

			private long endings;

			private Count(ToDoubleFunction<S> number) {
				this.number = number;
			}

			@Override
			public double applyAsDouble(RecentSnapshot<T, S> recent) {
				synchronized (recent) {
					S snapshot = recent.get();
					S ended = recent.ended;
					if (ended != null && this.endings != recent.endings) {
						this.endings = recent.endings;
						this.before += this.number.applyAsDouble(ended);
					}
					return this.before + this.number.applyAsDouble(snapshot);
				}
			}

		}

	}

}
