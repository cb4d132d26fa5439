package org.leaderfollowers;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.SourcePlaces;

/**
 * The event sources of a pool. Their leaderships come after those of the handle sets. The
 * pool is built with a fixed number of them; the leadership of a source that is not
 * registered is at rest.
 */
final class EventSources implements Drainable {

	private final String pool;

	private final Clock clock;

	private final int handleSets;

	private final LedSource[] sources;

	/** Set once, before any thread joins. */
	private @Nullable SourcePlaces places;

	EventSources(String pool, List<String> names, int handleSets, Clock clock) {
		this.pool = pool;
		this.clock = clock;
		this.handleSets = handleSets;
		this.sources = new LedSource[names.size()];
		Arrays.setAll(this.sources, (index) -> new LedSource(names.get(index), handleSets + index, clock));
	}

	/** Must be called before any thread joins. */
	void begin(SourcePlaces sourcePlaces) {
		this.places = sourcePlaces;
	}

	private SourcePlaces places() {
		return Objects.requireNonNull(this.places, "the sources have no places");
	}

	List<LedSource> all() {
		return List.of(this.sources);
	}

	Leadership[] leaderships() {
		return Arrays.stream(this.sources).map((source) -> source.leadership).toArray(Leadership[]::new);
	}

	/**
	 * The source that belongs to a leadership, or {@code null} if the leadership belongs
	 * to a handle set.
	 */
	@Nullable LedSource of(Leadership leadership) {
		int index = leadership.index() - this.handleSets;
		return (index >= 0) ? this.sources[index] : null;
	}

	private LedSource named(String name) {
		for (LedSource source : this.sources) {
			if (source.name().equals(name)) {
				return source;
			}
		}
		throw new IllegalArgumentException(
				"Pool '%s' was not built for an event source named '%s'. Name it with 'eventSources' of the builder"
					.formatted(this.pool, name));
	}

	/**
	 * See
	 * {@link LeaderFollowersPool#register(String, EventSource, int, EventSource.Handler)}.
	 */
	<E> void register(String name, EventSource<E> source, int concurrency, EventSource.Handler<? super E> handler) {
		Objects.requireNonNull(source, "'source' must not be null");
		Objects.requireNonNull(handler, "'handler' must not be null");
		if (concurrency < 1) {
			throw new IllegalArgumentException("'concurrency' must be at least 1, but is " + concurrency);
		}
		LedSource led = named(name);
		synchronized (led) {
			if (led.isInUse() || !isEnded(led, 0)) {
				throw new IllegalStateException(
						"An event source named '%s' is registered with pool '%s' already, or has not ended yet"
							.formatted(name, this.pool));
			}
			led.use(source, handler);
			places().open(led.leadership, concurrency);
		}
	}

	/** See {@link LeaderFollowersPool#deregister}. */
	boolean deregister(String name, Duration grace) {
		LedSource led = named(name);
		long deadlineNanos = this.clock.nanoTime() + Arguments.nanos(grace);
		end(led);
		return awaitEnd(led, deadlineNanos);
	}

	private void end(LedSource led) {
		synchronized (led) {
			places().close(led.leadership);
			led.disuse();
		}
	}

	private boolean awaitEnd(LedSource led, long deadlineNanos) {
		return led.awaitEnd((exceptHandlers) -> isEnded(led, exceptHandlers), deadlineNanos);
	}

	/**
	 * Whether a source that is no longer in use has no running handlers. A thread may
	 * still lead it for a moment without waiting on it.
	 */
	boolean isEnded(LedSource led, int exceptHandlers) {
		return led.isLeftAlone() && places().handling(led.leadership) <= exceptHandlers;
	}

	// Called by the leader

	/** Gives up the leadership of a source that is closed. */
	void rest(Participant me, LedSource source) {
		places().restIfClosed(me, source.leadership);
	}

	/** Called when an event is about to be handled: see {@link SourcePlaces#begin}. */
	void begin(Participant me, LedSource source) {
		try {
			places().begin(me, source.leadership);
		}
		finally {
			source.endAwait();
		}
	}

	/** Called when an event was handled. */
	void end(Participant me, LedSource source) {
		places().end(me, source.leadership);
		source.changedIfClosed();
	}

	int handling(LedSource source) {
		return places().handling(source.leadership);
	}

	void settingsChanged() {
		places().settingsChanged();
	}

	// Shutdown of the pool

	@Override
	public void beginDrain(long deadlineNanos) {
		for (LedSource source : this.sources) {
			end(source);
		}
	}

	@Override
	public boolean close(Duration grace) {
		beginDrain(0);
		long deadlineNanos = this.clock.nanoTime() + Arguments.nanos(grace);
		boolean ended = true;
		for (LedSource source : this.sources) {
			ended &= awaitEnd(source, deadlineNanos);
		}
		return ended;
	}

	/** Wakes the leaders, because the pool stops. */
	void wakeLeaders() {
		for (LedSource source : this.sources) {
			source.wakeLeader();
		}
	}

}
