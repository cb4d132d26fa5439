package org.leaderfollowers.internal.promotion;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.latency.LatencyHistogram;

/**
 * The record of the hand-offs of one leadership: the latest ones in full, and all of them
 * as a histogram for each kind, which counts them as well. Written by new leaders, one at
 * a time; read by any thread.
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
	 * The latest hand-offs in full. Any thread.
	 * @return a ring, to be read only
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
	 * Adds how long there was no leader between two. Any thread.
	 * @param kind how the new leader came to lead
	 * @param sum where to
	 */
	public void addTo(HandOffKind kind, LatencyHistogram.Sum sum) {
		this.vacancies[kind.ordinal()].addTo(sum);
	}

}
