package org.leaderfollowers.internal.logging;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * Stands in the log for an exception with a message that is not
 * {@linkplain RateLimit#printable printable}. Such messages often quote a peer: for
 * example, {@link Integer#parseInt(String)} quotes its argument. With line ends, a peer
 * could forge log lines.
 */
final class PrintableFailure extends Exception {

	private static final long serialVersionUID = 1L;

	private PrintableFailure(Throwable failure, @Nullable Throwable cause) {
		super(RateLimit.printable(failure.toString()), cause);
		setStackTrace(failure.getStackTrace());
	}

	private PrintableFailure(Class<?> type, Throwable ofDescription) {
		super("%s, which cannot be described (%s)".formatted(type.getName(), ofDescription.getClass().getName()));
	}

	/**
	 * Returns the exception to log.
	 * @param failure any exception, or {@code null}
	 * @return the same one; a copy if its message, or that of a cause or of a suppressed
	 * exception, is not printable; one that names its class if it, or one of these, has
	 * methods that fail, or the causes are too many
	 */
	static @Nullable Throwable of(@Nullable Throwable failure) {
		if (failure == null) {
			return null;
		}
		try {
			return isPrintable(failure, identitySet()) ? failure : copy(failure, identitySet());
		}
		catch (Exception | StackOverflowError ex) {
			return new PrintableFailure(failure.getClass(), ex);
		}
	}

	private static Set<Throwable> identitySet() {
		return Collections.newSetFromMap(new IdentityHashMap<>());
	}

	private static boolean isPrintable(@Nullable Throwable failure, Set<Throwable> seen) {
		if (failure == null || !seen.add(failure)) {
			return true;
		}
		String text = String.valueOf(failure);
		boolean printable = text.equals(RateLimit.printable(text)) && isPrintable(failure.getCause(), seen);
		for (Throwable suppressed : failure.getSuppressed()) {
			printable &= isPrintable(suppressed, seen);
		}
		return printable;
	}

	/** Copies each exception once, because causes may be circular. */
	private static @Nullable Throwable copy(@Nullable Throwable failure, Set<Throwable> seen) {
		if (failure == null || !seen.add(failure)) {
			return null;
		}
		PrintableFailure copy = new PrintableFailure(failure, copy(failure.getCause(), seen));
		for (Throwable suppressed : failure.getSuppressed()) {
			Throwable printable = copy(suppressed, seen);
			if (printable != null) {
				copy.addSuppressed(printable);
			}
		}
		return copy;
	}

	/** The text of the original exception, which begins with its class. */
	@Override
	public String toString() {
		return String.valueOf(getMessage());
	}

}
