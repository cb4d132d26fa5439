package org.leaderfollowers.spring.internal;

import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * Text of others, made harmless for a line of the log or of an answer.
 */
public final class Printable {

	/**
	 * Of all of Unicode: what begins a new line, moves the cursor of a terminal, or has
	 * it show text in another order.
	 */
	private static final Pattern HARMFUL = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");

	private Printable() {
	}

	/**
	 * Makes a text harmless.
	 * @param text the text; {@code null} gives the word
	 * @return the text with a question mark for each harmful character
	 */
	public static String of(@Nullable String text) {
		return HARMFUL.matcher(String.valueOf(text)).replaceAll("?");
	}

}
