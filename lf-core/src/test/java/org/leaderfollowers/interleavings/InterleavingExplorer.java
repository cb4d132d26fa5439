package org.leaderfollowers.interleavings;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * Explores every interleaving of the model of a protocol: breadth first over its states,
 * each of which is visited once, however many interleavings lead to it. A model can drift
 * from the code that it copies; {@link Exploration} runs the code itself.
 * <p>
 * What it checks:
 * <ul>
 * <li>in every state, {@link Protocol#violation};</li>
 * <li>in every state of rest, where nobody has a step that must be taken,
 * {@link Protocol#violationAtRest}: a lost wake-up shows here, as a rest that ought not
 * to be one;</li>
 * <li>that a state of rest can be reached from every state without the help of a step
 * that need not be taken: whoever goes in circles burns a processor or never
 * returns.</li>
 * </ul>
 * Steps are taken to be sequentially consistent. That holds for the protocols of the
 * engine, whose shared words are volatile; the stress tests look at the memory model
 * itself.
 */
final class InterleavingExplorer {

	private static final int CHUNK_STATES = 1 << 14;

	private final Protocol protocol;

	private final int maxStates;

	private final int width;

	private final List<byte[]> chunks = new ArrayList<>();

	private int[] table = new int[1 << 16];

	private int[] parents = new int[1 << 12];

	/** The targets of the steps that must be taken, state by state. */
	private int[] mustTargets = new int[1 << 12];

	private int[] mustStarts = new int[1 << 12];

	private int musts;

	private int states;

	private int rests;

	private int steps;

	private InterleavingExplorer(Protocol protocol, int maxStates) {
		this.protocol = protocol;
		this.maxStates = maxStates;
		this.width = protocol.start().length;
	}

	/**
	 * Explores all of a protocol.
	 * @param protocol what to explore
	 * @param maxStates more states than this are taken for a defect of the model
	 * @return what was found: the first violation, with the shortest way to it, or none
	 */
	static Exploration explore(Protocol protocol, int maxStates) {
		return new InterleavingExplorer(protocol, maxStates).run();
	}

	private Exploration run() {
		long began = System.nanoTime();
		String violation = null;
		int at = add(this.protocol.canonical(this.protocol.start()), -1);
		for (; at < this.states && violation == null; at++) {
			violation = visit(at);
		}
		int culprit = at - 1;
		if (violation == null) {
			culprit = findEndless();
			violation = (culprit >= 0) ? "goes in circles: no rest can be reached any more" : null;
		}
		return new Exploration(violation, (violation != null) ? wayTo(culprit) : "", this.states, this.steps,
				this.rests, (System.nanoTime() - began) / 1_000_000);
	}

	private String visit(int index) {
		byte[] state = state(index);
		String violation = this.protocol.violation(state);
		if (violation != null) {
			return violation;
		}
		if (index >= this.mustStarts.length - 1) {
			this.mustStarts = Arrays.copyOf(this.mustStarts, this.mustStarts.length * 2);
		}
		this.mustStarts[index] = this.musts;
		Steps next = successors(state);
		boolean rest = true;
		for (int i = 0; i < next.targets.size(); i++) {
			int target = add(this.protocol.canonical(next.targets.get(i)), index);
			this.steps++;
			if (next.must.get(i)) {
				rest = false;
				if (this.musts == this.mustTargets.length) {
					this.mustTargets = Arrays.copyOf(this.mustTargets, this.musts * 2);
				}
				this.mustTargets[this.musts++] = target;
			}
		}
		this.mustStarts[index + 1] = this.musts;
		if (rest) {
			this.rests++;
			return this.protocol.violationAtRest(state);
		}
		return null;
	}

	private Steps successors(byte[] state) {
		Steps next = new Steps(state);
		for (int actor = 0; actor < this.protocol.actors(); actor++) {
			this.protocol.steps(state, actor, next);
		}
		return next;
	}

	/**
	 * Searches backwards from the states of rest. Returns the first state from which none
	 * of them is reached.
	 */
	private int findEndless() {
		int[] counts = new int[this.states + 1];
		for (int i = 0; i < this.musts; i++) {
			counts[this.mustTargets[i] + 1]++;
		}
		for (int i = 0; i < this.states; i++) {
			counts[i + 1] += counts[i];
		}
		int[] sources = new int[this.musts];
		int[] fill = Arrays.copyOf(counts, this.states);
		boolean[] reached = new boolean[this.states];
		int[] queue = new int[this.states];
		int end = 0;
		for (int state = 0; state < this.states; state++) {
			for (int i = this.mustStarts[state]; i < this.mustStarts[state + 1]; i++) {
				sources[fill[this.mustTargets[i]]++] = state;
			}
			if (this.mustStarts[state] == this.mustStarts[state + 1]) {
				reached[state] = true;
				queue[end++] = state;
			}
		}
		for (int next = 0; next < end; next++) {
			for (int i = counts[queue[next]]; i < counts[queue[next] + 1]; i++) {
				if (!reached[sources[i]]) {
					reached[sources[i]] = true;
					queue[end++] = sources[i];
				}
			}
		}
		for (int state = 0; state < this.states; state++) {
			if (!reached[state]) {
				return state;
			}
		}
		return -1;
	}

	private String wayTo(int index) {
		Deque<String> way = new ArrayDeque<>();
		way.addFirst("    " + this.protocol.describe(state(index)));
		for (int to = index; this.parents[to] >= 0; to = this.parents[to]) {
			Steps next = successors(state(this.parents[to]));
			for (int i = 0; i < next.targets.size(); i++) {
				if (Arrays.equals(this.protocol.canonical(next.targets.get(i)), state(to))) {
					way.addFirst(next.labels.get(i));
					break;
				}
			}
		}
		return String.join("\n", way);
	}

	// The set of states

	private byte[] state(int index) {
		int from = (index % CHUNK_STATES) * this.width;
		return Arrays.copyOfRange(this.chunks.get(index / CHUNK_STATES), from, from + this.width);
	}

	private int add(byte[] state, int parent) {
		int mask = this.table.length - 1;
		int place = hash(state, 0) & mask;
		while (this.table[place] != 0) {
			int index = this.table[place] - 1;
			int from = (index % CHUNK_STATES) * this.width;
			if (Arrays.equals(this.chunks.get(index / CHUNK_STATES), from, from + this.width, state, 0, this.width)) {
				return index;
			}
			place = (place + 1) & mask;
		}
		int index = this.states++;
		if (index >= this.maxStates) {
			throw new IllegalStateException("more than %d states".formatted(this.maxStates));
		}
		if (index % CHUNK_STATES == 0) {
			this.chunks.add(new byte[CHUNK_STATES * this.width]);
		}
		System.arraycopy(state, 0, this.chunks.get(index / CHUNK_STATES), (index % CHUNK_STATES) * this.width,
				this.width);
		this.table[place] = index + 1;
		if (index == this.parents.length) {
			this.parents = Arrays.copyOf(this.parents, index * 2);
		}
		this.parents[index] = parent;
		if (this.states * 2 > this.table.length) {
			grow();
		}
		return index;
	}

	private void grow() {
		this.table = new int[this.table.length * 2];
		int mask = this.table.length - 1;
		for (int index = 0; index < this.states; index++) {
			int place = hash(this.chunks.get(index / CHUNK_STATES), (index % CHUNK_STATES) * this.width) & mask;
			while (this.table[place] != 0) {
				place = (place + 1) & mask;
			}
			this.table[place] = index + 1;
		}
	}

	private int hash(byte[] bytes, int from) {
		long hash = 0xcbf29ce484222325L;
		for (int i = from; i < from + this.width; i++) {
			hash = (hash ^ bytes[i]) * 0x100000001b3L;
		}
		return (int) (hash ^ (hash >>> 29));
	}

	/**
	 * A model: a state in bytes, and the atomic steps that lead from one state to the
	 * next.
	 */
	interface Protocol {

		/** Returns the initial state. */
		byte[] start();

		/** Returns the number of actors. */
		int actors();

		/** Adds each step that an actor can take in a state. */
		void steps(byte[] state, int actor, Steps steps);

		/** Returns the violated rule of a state, or {@code null}. */
		String violation(byte[] state);

		/**
		 * Returns the rule that is violated if everything comes to rest in a state, or
		 * {@code null}.
		 */
		String violationAtRest(byte[] state);

		/**
		 * Returns the representative of all states that differ only in the names of
		 * interchangeable actors.
		 */
		default byte[] canonical(byte[] state) {
			return state;
		}

		/** Describes the state for people. */
		default String describe(byte[] state) {
			return Arrays.toString(state);
		}

	}

	/**
	 * Collects steps.
	 */
	static final class Steps {

		private final byte[] from;

		private final List<byte[]> targets = new ArrayList<>();

		private final List<Boolean> must = new ArrayList<>();

		private final List<String> labels = new ArrayList<>();

		private Steps(byte[] from) {
			this.from = from;
		}

		/**
		 * Adds a step that is taken sooner or later: the next instruction of a thread.
		 * @param label what it is
		 * @return the state to be changed
		 */
		byte[] must(String label) {
			return add(label, true);
		}

		/**
		 * Adds a step that need not ever be taken: an event, the end of a handler, the
		 * end of a waiting time.
		 * @param label what it is
		 * @return the state to be changed
		 */
		byte[] may(String label) {
			return add(label, false);
		}

		private byte[] add(String label, boolean mustBeTaken) {
			byte[] target = this.from.clone();
			this.targets.add(target);
			this.must.add(mustBeTaken);
			this.labels.add(label);
			return target;
		}

	}

	/**
	 * What came of an exploration.
	 *
	 * @param violation what went wrong, or {@code null}
	 * @param way the steps that lead to it
	 * @param states how many states were visited
	 * @param steps how many steps between them
	 * @param rests how many of the states are states of rest
	 * @param millis how long it took
	 */
	record Exploration(String violation, String way, int states, int steps, int rests, long millis) {

		@Override
		public String toString() {
			return "%,d states, %,d steps, %,d rests, %d ms%s".formatted(this.states, this.steps, this.rests,
					this.millis, (this.violation != null) ? ": " + this.violation + "\n" + this.way : "");
		}

	}

}
