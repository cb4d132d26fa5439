package org.leaderfollowers;

import java.nio.channels.SelectableChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Arrays;
import java.util.Iterator;
import java.util.function.Consumer;

import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Deal;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.Unfolding;

/** The handle sets of a pool by index, and the assignment of handles to them. */
final class HandleSets implements Iterable<HandleSet> {

	private final HandleSet[] sets;

	private final Deal deal;

	HandleSets(String pool, int count, int inUse, Clock clock, SelectorProvider selectorProvider,
			FailureLog failureLog) {
		this.deal = new Deal(inUse);
		this.sets = new HandleSet[count];
		Arrays.setAll(this.sets,
				(index) -> new HandleSet(nameOf(pool, index), index, this, clock, selectorProvider, failureLog));
	}

	static String nameOf(String pool, int index) {
		return pool + "-" + index;
	}

	/** Must be called before any thread joins. */
	void begin(Unfolding unfolding) {
		for (HandleSet set : this.sets) {
			set.unfolding = unfolding;
		}
	}

	Leadership[] leaderships() {
		return Arrays.stream(this.sets).map((set) -> set.leadership).toArray(Leadership[]::new);
	}

	Deal deal() {
		return this.deal;
	}

	int count() {
		return this.sets.length;
	}

	HandleSet get(int index) {
		return this.sets[index];
	}

	HandleSet of(Leadership leadership) {
		return this.sets[leadership.index()];
	}

	boolean contains(HandleSet set) {
		return this.sets[set.leadership.index() % this.sets.length] == set;
	}

	/** The set that a handle is currently assigned to. */
	HandleSet of(SelectableHandle handle) {
		return this.sets[this.deal.indexOf(handle.number)];
	}

	/**
	 * Creates a handle that is owned by the caller and not registered yet.
	 * @param profiles the profiles of the handler: one for all handle sets, or one for
	 * each
	 */
	SelectableHandle newHandle(SelectableChannel channel, EngineEventHandler handler, int operations,
			HandlerProfile... profiles) {
		short number = this.deal.nextNumber();
		return new SelectableHandle(channel, number, this.sets[this.deal.indexOf(number)], handler, profiles,
				operations);
	}

	/**
	 * Moves a handle of another pool to one of these sets. Called by the leader of its
	 * current set, on behalf of the owner.
	 * @param profiles the profiles of the handler in this pool
	 */
	void adopt(SelectableHandle handle, HandlerProfile[] profiles) {
		short number = this.deal.nextNumber();
		handle.moveTo(this.sets[this.deal.indexOf(number)], number, profiles);
	}

	/**
	 * Creates a handle without a channel, owned by the caller, for a handler that needs
	 * only a timer and looks. It stays in the first set, which is always in use.
	 */
	SelectableHandle newTimer(EngineEventHandler handler) {
		return new SelectableHandle(null, (short) 0, this.sets[0], handler,
				new HandlerProfile[] { new HandlerProfile() }, 0);
	}

	/** Creates profiles for a handler whose handles are in all handle sets. */
	HandlerProfile[] newProfiles() {
		HandlerProfile[] profiles = new HandlerProfile[this.sets.length];
		Arrays.setAll(profiles, (index) -> new HandlerProfile());
		return profiles;
	}

	/**
	 * Acts on each item, even if one fails. The first failure is thrown at the end, an
	 * {@link Error} before others.
	 */
	static <T> void forAll(Iterable<T> items, Consumer<T> action) {
		RuntimeException failure = null;
		Error error = null;
		for (T item : items) {
			try {
				action.accept(item);
			}
			catch (RuntimeException ex) {
				failure = (failure != null) ? failure : ex;
			}
			catch (Error ex) {
				error = (error != null) ? error : ex;
			}
		}
		if (error != null) {
			throw error;
		}
		if (failure != null) {
			throw failure;
		}
	}

	@Override
	public Iterator<HandleSet> iterator() {
		return Arrays.asList(this.sets).iterator();
	}

}
