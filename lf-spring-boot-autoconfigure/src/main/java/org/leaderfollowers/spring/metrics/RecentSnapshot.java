package org.leaderfollowers.spring.metrics;

import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

import org.jspecify.annotations.Nullable;

/**
 * One snapshot for all meters that are read at the same time. What is read from may be
 * replaced, as a server is that is stopped and started again: what was counted before
 * then is added to what is counted since, so that counters never fall.
 *
 * @param <T> the type of what snapshots are taken of
 * @param <S> the type of the snapshot
 */
final class RecentSnapshot<T, S> {

	private static final long MAX_AGE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private final Supplier<T> source;

	private final Function<T, S> snapshots;

	private @Nullable T current;

	/** Of those before the current one, by number: the last of them only. */
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

	/**
	 * Returns a function for a meter that reads a number as it is.
	 */
	ToDoubleFunction<RecentSnapshot<T, S>> value(ToDoubleFunction<S> number) {
		return (recent) -> number.applyAsDouble(recent.get());
	}

	/**
	 * Returns a function for a meter that reads a number that only grows.
	 */
	ToDoubleFunction<RecentSnapshot<T, S>> count(ToDoubleFunction<S> number) {
		return new Count(number);
	}

	/**
	 * A number that only grows. Two replacements between two looks count as one.
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
