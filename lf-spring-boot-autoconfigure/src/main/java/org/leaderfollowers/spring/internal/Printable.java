package org.leaderfollowers.spring.internal;

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

}
