package org.leaderfollowers.interleavings;

import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A place in an instrumented class where shared memory is accessed.
 *
 * @param where class, method and line
 * @param what the access, for traces
 * @param field which part of the target is accessed; empty if all of it. Interned
 * @param kind what the access does
 * @param shared whether other threads are let in before it; if not, it is noted only
 * @param hash the same whenever the class is loaded
 */
record Site(String where, String what, String field, Kind kind, boolean shared, int hash) {

	/** Grows by doubling: each class that is loaded adds some. */
	private static volatile Site[] sites = new Site[1 << 12];

	private static int count;

	private static final Map<VarHandle, String> FIELDS = new ConcurrentHashMap<>();

	private static final ClassValue<Map<String, Field>> TYPES = new ClassValue<>() {

		@Override
		protected Map<String, Field> computeValue(Class<?> type) {
			return new ConcurrentHashMap<>();
		}

	};

	/**
	 * What an access does.
	 */
	enum Kind {

		READ, WRITE, UPDATE

	}

	Site {
		field = field.intern();
	}

	/** The site as a number, which instrumented code can pass on. */
	int number() {
		synchronized (Site.class) {
			Site[] grown = (count == sites.length) ? Arrays.copyOf(sites, count * 2) : sites;
			grown[count] = this;
			sites = grown;
			return count++;
		}
	}

	static Site of(int number) {
		return sites[number];
	}

	/** Returns the interned name of a field; the same name for all kinds of access. */
	static String fieldOf(VarHandle handle) {
		String known = FIELDS.get(handle);
		return (known != null) ? known : FIELDS.computeIfAbsent(handle,
				(key) -> key.describeConstable().map((description) -> description.constantName()).orElse("").intern());
	}

	/** The field of an object of an instrumented class. */
	static Field field(Class<?> type, String name) {
		Map<String, Field> fields = TYPES.get(type);
		Field known = fields.get(name);
		return (known != null) ? known : fields.computeIfAbsent(name, (key) -> {
			for (Class<?> owner = type; owner != null; owner = owner.getSuperclass()) {
				for (Field field : owner.getDeclaredFields()) {
					if (field.getName().equals(name)) {
						field.setAccessible(true);
						return field;
					}
				}
			}
			throw new IllegalStateException("no field '%s' in %s".formatted(name, type));
		});
	}

	@Override
	public String toString() {
		return this.what + "   " + this.where;
	}

}
