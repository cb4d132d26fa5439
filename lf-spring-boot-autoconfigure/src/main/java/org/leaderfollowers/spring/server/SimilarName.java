package org.leaderfollowers.spring.server;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/**
 * Guesses which name was meant by a misspelt one.
 */
final class SimilarName {

	private SimilarName() {
	}

	/**
	 * Asks whether the most similar name was meant.
	 * @param name the misspelt name
	 * @param known the names to choose from
	 * @return a sentence that ends with a space, or nothing if no name is similar
	 */
	static String question(String name, Collection<String> known) {
		return find(name, known).map("Did you mean '%s'? "::formatted).orElse("");
	}

	private static Optional<String> find(String name, Collection<String> known) {
		int tolerance = (name.length() < 4) ? 1 : 2;
		return known.stream()
			.filter((candidate) -> distance(name, candidate) <= tolerance)
			.min(Comparator.comparingInt((candidate) -> distance(name, candidate)));
	}

	/**
	 * How many characters have to be inserted, removed or replaced (Levenshtein).
	 */
	private static int distance(String left, String right) {
		String from = left.toLowerCase(Locale.ROOT);
		String to = right.toLowerCase(Locale.ROOT);
		int[] previous = new int[to.length() + 1];
		for (int j = 0; j <= to.length(); j++) {
			previous[j] = j;
		}
		for (int i = 1; i <= from.length(); i++) {
			int[] row = new int[to.length() + 1];
			row[0] = i;
			for (int j = 1; j <= to.length(); j++) {
				int replaced = previous[j - 1] + ((from.charAt(i - 1) != to.charAt(j - 1)) ? 1 : 0);
				row[j] = Math.min(replaced, 1 + Math.min(previous[j], row[j - 1]));
			}
			previous = row;
		}
		return previous[to.length()];
	}

}
