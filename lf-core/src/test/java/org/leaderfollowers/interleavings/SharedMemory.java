package org.leaderfollowers.interleavings;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.jspecify.annotations.Nullable;

/**
 * The memory that the threads of an execution share: the objects that they have created
 * or accessed, and those parts of them that were accessed. Each object has an identity, a
 * number that is the same whenever the execution comes to this state.
 * <p>
 * An exploration spends much of its time here. Therefore, one hash table has all objects,
 * and each object has a list of its parts.
 */
final class SharedMemory {

	private static final long NOTHING_WRITTEN = 0;

	/** Its length is a power of two. */
	private @Nullable Entry[] table = new Entry[512];

	private int entries;

	/** How many objects other than threads there are. */
	private int objects;

	/** The sum over all locations. */
	private long hash;

	/** The history of the running thread, for objects whose creation was not seen. */
	private long latest;

	/** Stands for the values of all locations. */
	long hash() {
		return this.hash;
	}

	/** The running thread has made a step. */
	void stepped(long history) {
		this.latest = history;
	}

	void created(Object object, long identity) {
		Entry entry = find(object);
		if (entry != null) {
			entry.identity = identity;
		}
		else {
			this.objects++;
			add(object, identity);
		}
	}

	void created(Thread thread, long identity) {
		add(thread, identity);
	}

	/**
	 * Returns a part of an object.
	 * @param field the name of a field, or an empty string for the object itself. Equal
	 * names are the same object
	 */
	Location location(Object target, String field) {
		Entry entry = entry(target);
		Location location = entry.locations;
		while (location != null && location.name != field) {
			location = location.next;
		}
		if (location == null) {
			location = new Location(entry, target, field);
			entry.locations = location;
		}
		return location;
	}

	private Entry entry(Object object) {
		Entry entry = find(object);
		return (entry != null) ? entry : add(object, Execution.mix(this.objects++, this.latest));
	}

	private @Nullable Entry find(Object object) {
		Entry entry = this.table[System.identityHashCode(object) & (this.table.length - 1)];
		while (entry != null && entry.object != object) {
			entry = entry.next;
		}
		return entry;
	}

	private Entry add(Object object, long identity) {
		if (this.entries++ == this.table.length) {
			grow();
		}
		Entry entry = new Entry(object, identity);
		link(entry);
		return entry;
	}

	private void grow() {
		@Nullable Entry[] former = this.table;
		this.table = new Entry[2 * former.length];
		for (Entry first : former) {
			for (Entry entry = first; entry != null;) {
				Entry next = entry.next;
				link(entry);
				entry = next;
			}
		}
	}

	private void link(Entry entry) {
		int index = System.identityHashCode(entry.object) & (this.table.length - 1);
		entry.next = this.table[index];
		this.table[index] = entry;
	}

	/** Returns a number for a value; the number is the same in every execution. */
	private long hash(@Nullable Object value) {
		if (value == null) {
			return 0;
		}
		if (value instanceof Number number) {
			return Execution.mix(number.longValue(), 1);
		}
		if (value instanceof Boolean || value instanceof String || value instanceof Character) {
			return Execution.mix(value.hashCode(), 2);
		}
		return (value instanceof Enum<?> constant) ? constant.name().hashCode() : entry(value).identity;
	}

	/** An object. */
	private static final class Entry {

		private final Object object;

		private long identity;

		private @Nullable Location locations;

		private @Nullable Entry next;

		Entry(Object object, long identity) {
			this.object = object;
			this.identity = identity;
		}

	}

	/**
	 * A field, an object of {@code java.util.concurrent.atomic}, an array, or another
	 * object whose state cannot be looked at.
	 */
	final class Location {

		private final long id;

		private final Object target;

		private final String name;

		private final @Nullable Field field;

		private final @Nullable Location next;

		/** Stands for the value. */
		private long hash;

		private Location(Entry entry, Object target, String name) {
			this.id = Execution.mix(entry.identity, name.hashCode());
			this.target = target;
			this.name = name;
			this.field = name.isEmpty() ? null : Site.field(target.getClass(), name);
			this.next = entry.locations;
		}

		/** Returns what stands for the value. */
		long read() {
			refresh(NOTHING_WRITTEN);
			return this.hash;
		}

		/**
		 * A thread has written to this.
		 * @param history stands for the value if it cannot be looked at
		 */
		void written(long history) {
			refresh(history);
		}

		private void refresh(long history) {
			long before = this.hash;
			this.hash = look(history);
			if (this.hash != before) {
				SharedMemory.this.hash += Execution.mix(this.id, this.hash) - Execution.mix(this.id, before);
			}
		}

		private long look(long history) {
			try {
				if (this.field != null) {
					return SharedMemory.this.hash(this.field.get(this.target));
				}
			}
			catch (IllegalAccessException ex) {
				throw new IllegalStateException(ex);
			}
			if (this.target instanceof Object[] array) {
				long hash = array.length;
				for (Object element : array) {
					hash = Execution.mix(hash, SharedMemory.this.hash(element));
				}
				return hash;
			}
			if (this.target instanceof AtomicReferenceArray<?> array) {
				long hash = array.length();
				for (int i = 0; i < array.length(); i++) {
					hash = Execution.mix(hash, SharedMemory.this.hash(array.get(i)));
				}
				return hash;
			}
			if (this.target instanceof AtomicReference<?> reference) {
				return SharedMemory.this.hash(reference.get());
			}
			if (this.target instanceof AtomicBoolean flag) {
				return SharedMemory.this.hash(flag.get());
			}
			if (this.target instanceof AtomicInteger || this.target instanceof AtomicLong) {
				return SharedMemory.this.hash(this.target);
			}
			if (this.target instanceof AtomicLongArray array) {
				long hash = array.length();
				for (int i = 0; i < array.length(); i++) {
					hash = Execution.mix(hash, array.get(i));
				}
				return hash;
			}
			return (history != NOTHING_WRITTEN) ? history : this.hash;
		}

	}

}
