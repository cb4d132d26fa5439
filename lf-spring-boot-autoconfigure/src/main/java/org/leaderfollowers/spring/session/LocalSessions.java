package org.leaderfollowers.spring.session;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * Which session of this node holds which name. Every transition of a name is atomic, and
 * is one method here:
 * <ul>
 * <li>{@link #begin}: a connection of this node asks the directory for the name. From now
 * on the name remembers who prevails over it, because the answer may be out of date when
 * it arrives.</li>
 * <li>{@link #finish}: the directory has answered. The session holds the name, unless one
 * with a higher epoch has come first.</li>
 * <li>{@link #abort}: the directory has refused.</li>
 * <li>{@link #concede}: another node holds the name with a higher epoch.</li>
 * <li>{@link #remove}: the connection has ended.</li>
 * </ul>
 * Invariant: the epoch of the holder of a name never falls, and a session that lost the
 * name never gets it back.
 */
final class LocalSessions {

	private final Map<String, Place> places = new ConcurrentHashMap<>();

	private final Map<String, Collection<LocalSession>> groups = new ConcurrentHashMap<>();

	/**
	 * A name.
	 *
	 * @param holder who holds it here
	 * @param claims how many connections of this node wait for the directory
	 * @param successor the highest entry of another node that was heard of while
	 * connections wait
	 */
	private record Place(@Nullable LocalSession holder, int claims, @Nullable SessionEntry successor) {

		private static final Place EMPTY = new Place(null, 0, null);

		private static Place of(@Nullable Place place) {
			return (place != null) ? place : EMPTY;
		}

		/** Forgets what only waiting connections need, and names that nobody holds. */
		private @Nullable Place tidy() {
			if (this.claims > 0) {
				return this;
			}
			return (this.holder != null) ? new Place(this.holder, 0, null) : null;
		}

	}

	void begin(String name) {
		this.places.compute(name, (key, current) -> {
			Place place = Place.of(current);
			return new Place(place.holder, place.claims + 1, place.successor);
		});
	}

	void abort(String name) {
		this.places.computeIfPresent(name,
				(key, place) -> new Place(place.holder, place.claims - 1, place.successor).tidy());
	}

	/**
	 * Lets a session hold its name, unless another one prevails.
	 * @return the session that lost the name: the earlier holder, the new session itself,
	 * or {@code null} if nobody did
	 */
	@Nullable LocalSession finish(LocalSession session) {
		AtomicReference<LocalSession> loser = new AtomicReference<>();
		this.places.compute(session.name(), (key, current) -> {
			Place place = Place.of(current);
			LocalSession earlier = place.holder;
			boolean late = (place.successor != null && place.successor.prevailsOver(session.entry()))
					|| (earlier != null && earlier.entry().prevailsOver(session.entry()));
			loser.set(late ? session : earlier);
			return new Place(late ? earlier : session, place.claims - 1, place.successor).tidy();
		});
		return loser.get();
	}

	/**
	 * Takes a name from its holder if the entry of another node prevails.
	 * @return the session that lost the name, or {@code null}
	 */
	@Nullable LocalSession concede(SessionEntry successor) {
		AtomicReference<LocalSession> loser = new AtomicReference<>();
		this.places.computeIfPresent(successor.name(), (key, place) -> {
			LocalSession holder = place.holder;
			if (holder != null && successor.prevailsOver(holder.entry())) {
				loser.set(holder);
				holder = null;
			}
			SessionEntry highest = (place.successor == null || successor.prevailsOver(place.successor)) ? successor
					: place.successor;
			return new Place(holder, place.claims, highest).tidy();
		});
		return loser.get();
	}

	/**
	 * Removes a session from its name and its groups.
	 * @return whether it held the name until now
	 */
	boolean remove(LocalSession session) {
		AtomicReference<LocalSession> removed = new AtomicReference<>();
		this.places.computeIfPresent(session.name(), (key, place) -> {
			if (place.holder != session) {
				return place;
			}
			removed.set(session);
			return new Place(null, place.claims, place.successor).tidy();
		});
		session.groups().forEach((group) -> leave(session, group));
		return removed.get() != null;
	}

	@Nullable LocalSession get(String name) {
		Place place = this.places.get(name);
		return (place != null) ? place.holder : null;
	}

	Stream<LocalSession> all() {
		return this.places.values().stream().map(Place::holder).filter(Objects::nonNull).map(Objects::requireNonNull);
	}

	void join(LocalSession session, String group) {
		this.groups.compute(group, (key, members) -> {
			Collection<LocalSession> joined = (members != null) ? members : ConcurrentHashMap.newKeySet();
			joined.add(session);
			return joined;
		});
		session.groups().add(group);
		if (session.ended().get()) {
			// Its end has gone through its groups already, or may have.
			leave(session, group);
		}
	}

	void leave(LocalSession session, String group) {
		session.groups().remove(group);
		this.groups.computeIfPresent(group, (key, members) -> {
			members.remove(session);
			return members.isEmpty() ? null : members;
		});
	}

	Stream<LocalSession> members(String group) {
		return this.groups.getOrDefault(group, List.of()).stream();
	}

}
