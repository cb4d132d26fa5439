package org.leaderfollowers.spring.internal;

import java.util.IdentityHashMap;
import java.util.Map;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/** Makes text from others safe for a line of the log or of a response. */
public final class Printable {

	/**
	 * Characters that begin a new line, move the cursor of a terminal, or change the
	 * direction of text.
	 */
	private static final Pattern HARMFUL = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");

	private Printable() {
	}

	/**
	 * Replaces harmful characters.
	 * @param text the text; {@code null} becomes the word null
	 * @return the text with a question mark for each harmful character
	 */
	public static String of(@Nullable String text) {
		return HARMFUL.matcher(String.valueOf(text)).replaceAll("?");
	}

	/**
	 * Makes an exception safe for the log. Messages of exceptions often quote a client,
	 * for example that of {@link Integer#parseInt(String)}.
	 * @param failure the exception
	 * @return the same one, or a copy if its message, or that of a cause or of a
	 * suppressed exception, contains harmful characters
	 */
	public static Throwable of(Throwable failure) {
		Map<Throwable, Throwable> copies = new IdentityHashMap<>();
		Throwable copy = copy(failure, copies);
		boolean harmless = copies.keySet().stream().noneMatch((each) -> HARMFUL.matcher(each.toString()).find());
		return harmless ? failure : copy;
	}

	/** Copies each exception once, because causes may be circular. */
	private static Throwable copy(Throwable failure, Map<Throwable, Throwable> copies) {
		Throwable earlier = copies.get(failure);
		if (earlier != null) {
			return earlier;
		}
		Throwable copy = new PrintableFailure(failure);
		copies.put(failure, copy);
		if (failure.getCause() != null) {
			copy.initCause(copy(failure.getCause(), copies));
		}
		for (Throwable suppressed : failure.getSuppressed()) {
			copy.addSuppressed(copy(suppressed, copies));
		}
		return copy;
	}

	/** Stands for another exception in the log. */
	private static final class PrintableFailure extends Exception {

		private static final long serialVersionUID = 1L;

		PrintableFailure(Throwable failure) {
			super(Printable.of(failure.toString()));
			setStackTrace(failure.getStackTrace());
		}

		/** The text of the original exception, which begins with its class. */
		@Override
		public String toString() {
			return String.valueOf(getMessage());
		}

	}

}
