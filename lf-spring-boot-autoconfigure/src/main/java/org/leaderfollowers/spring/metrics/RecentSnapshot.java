package org.leaderfollowers.spring.metrics;

import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

import org.jspecify.annotations.Nullable;

/**
 * One snapshot for all meters that are read at the same time.
 *
 * @param <S> the type of the snapshot
 */
class RecentSnapshot<S> {

	private static final long MAX_AGE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	private final Supplier<S> source;

	private @Nullable S snapshot;

	private long takenNanos;

	RecentSnapshot(Supplier<S> source) {
		this.source = source;
	}

	synchronized S get() {
		S current = this.snapshot;
		long now = System.nanoTime();
		if (current == null || now - this.takenNanos > MAX_AGE_NANOS) {
			current = this.source.get();
			this.snapshot = current;
			this.takenNanos = now;
		}
		return current;
	}

	/**
	 * Returns a function for a meter that reads one number.
	 */
	ToDoubleFunction<RecentSnapshot<S>> value(ToDoubleFunction<S> number) {
		return (recent) -> number.applyAsDouble(recent.get());
	}

}
