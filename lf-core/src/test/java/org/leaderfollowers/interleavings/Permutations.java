package org.leaderfollowers.interleavings;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * All ways to number the threads of a model that are alike: states that differ only in
 * the numbers need be explored only once.
 */
final class Permutations {

	private final int alike;

	private final List<int[]> permutations = new ArrayList<>();

	private Permutations(int alike) {
		this.alike = alike;
	}

	/**
	 * The permutations of the numbers of threads.
	 * @param alike the threads from 1 to this number are alike
	 * @param all how many threads there are; the others keep their numbers
	 * @return by number of a thread, its new number; 0, which is nobody, stays 0
	 */
	static List<int[]> of(int alike, int all) {
		Permutations permutations = new Permutations(alike);
		permutations.permute(IntStream.rangeClosed(0, all).toArray(), 1);
		return permutations.permutations;
	}

	private void permute(int[] numbers, int next) {
		if (next > this.alike) {
			this.permutations.add(numbers.clone());
			return;
		}
		for (int i = next; i <= this.alike; i++) {
			swap(numbers, next, i);
			permute(numbers, next + 1);
			swap(numbers, next, i);
		}
	}

	private static void swap(int[] numbers, int one, int other) {
		int number = numbers[one];
		numbers[one] = numbers[other];
		numbers[other] = number;
	}

}
