package org.leaderfollowers.internal.promotion;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.latency.LatencyHistogram;

/**
 * The hand-offs of one leadership: the latest ones in full, and a histogram of all of
 * them for each kind. Written by new leaders, one at a time; read by any thread.
 */
public final class HandOffs {

	private static final HandOffKind[] KINDS = HandOffKind.values();

	private final HandOffRing<HandledWork> latest = new HandOffRing<>();

	private final LatencyHistogram[] vacancies = new LatencyHistogram[KINDS.length];

	HandOffs() {
		for (int i = 0; i < this.vacancies.length; i++) {
			this.vacancies[i] = new LatencyHistogram();
		}
	}

	/** See {@link HandOffRing#add}. Called by the new leader. */
	void record(long nanos, long vacancyNanos, HandOffKind kind, @Nullable String from, String to,
			@Nullable HandledWork work, long workNumber) {
		this.vacancies[kind.ordinal()].recordAlone(vacancyNanos);
		this.latest.add(nanos, vacancyNanos, kind.ordinal(), from, to, work, workNumber);
	}

	/**
	 * The latest hand-offs in full. Any thread, for reading only.
	 * @return the ring
	 */
	public HandOffRing<HandledWork> latest() {
		return this.latest;
	}

	/**
	 * How many hand-offs there have been. Any thread.
	 * @return a number
	 */
	public long count() {
		return this.latest.latest();
	}

	/**
	 * Adds the durations without a leader to a sum. Any thread.
	 * @param kind how the new leader came to lead
	 * @param sum receives the durations
	 */
	public void addTo(HandOffKind kind, LatencyHistogram.Sum sum) {
		this.vacancies[kind.ordinal()].addTo(sum);
	}

}
