package org.leaderfollowers.spring.internal;

import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

/**
 * Acts on each of several objects, even if one fails.
 */
public final class EvenIfOneFails {

	private EvenIfOneFails() {
	}

	/**
	 * Acts on each item in turn. The first failure is thrown at the end, and the others
	 * are suppressed in it.
	 * @param <T> the type of the items
	 * @param items the items
	 * @param action may throw, for example because it calls a listener
	 */
	public static <T> void forAll(Iterable<? extends T> items, Consumer<T> action) {
		Throwable failure = null;
		for (T item : items) {
			try {
				action.accept(item);
			}
			catch (Throwable ex) {
				failure = add(failure, ex);
			}
		}
		if (failure != null) {
			EvenIfOneFails.<RuntimeException>rethrow(failure);
		}
	}

	/** Code in Kotlin, for example, throws checked exceptions without a declaration. */
	@SuppressWarnings("unchecked")
	private static <E extends Throwable> void rethrow(Throwable failure) throws E {
		throw (E) failure;
	}

	private static Throwable add(@Nullable Throwable first, Throwable next) {
		if (first == null) {
			return next;
		}
		if (first != next) {
			first.addSuppressed(next);
		}
		return first;
	}

}
