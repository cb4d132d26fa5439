package org.leaderfollowers.spring.actuate;

import java.util.regex.Pattern;

/**
 * Text of others, made harmless for a line of the log or of an answer.
 */
final class Printable {

	/**
	 * Of all of Unicode: what begins a new line, moves the cursor of a terminal, or has
	 * it show text in another order.
	 */
	private static final Pattern HARMFUL = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");

	private Printable() {
	}

	static String of(String text) {
		return HARMFUL.matcher(text).replaceAll("?");
	}

}
