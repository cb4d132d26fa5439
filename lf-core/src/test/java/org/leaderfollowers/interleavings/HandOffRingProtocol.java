package org.leaderfollowers.interleavings;

import java.util.Arrays;

import org.leaderfollowers.interleavings.InterleavingExplorer.Steps;

/**
 * {@code HandOffRing} in atomic steps: two slots of two fields, leaders who write one
 * hand-off after the other, and one who reads whatever is there, again and again. A
 * hand-off has its sequence number in both fields.
 * <p>
 * That there is one leader at a time, who sees what the one before wrote, is proved
 * elsewhere ({@link PromotionProtocol}); so one writer stands for all.
 */
final class HandOffRingProtocol implements InterleavingExplorer.Protocol {

	/**
	 * A rule of the protocol that is dropped.
	 */
	enum Without {

		/** The sequence number is written before the fields are overwritten. */
		SEQUENCE_BEFORE_FIELDS,

		/** A hand-off counts when its fields have been written. */
		FIELDS_BEFORE_COUNT,

		/** The reader looks at the sequence number after the fields. */
		LOOK_AFTER_FIELDS

	}

	private static final int CAPACITY = 2;

	// Shared

	private static final int SEQUENCE = 0;

	private static final int FIRST = SEQUENCE + CAPACITY;

	private static final int SECOND = FIRST + CAPACITY;

	private static final int LATEST = SECOND + CAPACITY;

	// The leader's

	private static final int WRITER_PC = LATEST + 1;

	/** The hand-off that is being written, or the latest one. */
	private static final int WRITING = WRITER_PC + 1;

	// The reader's

	private static final int READER_PC = WRITING + 1;

	private static final int WANTED = READER_PC + 1;

	private static final int COPY_FIRST = WANTED + 1;

	private static final int COPY_SECOND = COPY_FIRST + 1;

	/** What came of the last reading. */
	private static final int RESULT = COPY_SECOND + 1;

	private static final int WIDTH = RESULT + 1;

	private static final int NOTHING = 0;

	private static final int ACCEPTED = 1;

	private static final int REFUSED = 2;

	/** The leader's steps, in their order, unless a rule is dropped. */
	private enum Write {

		SEQUENCE, FIRST, SECOND, COUNT

	}

	private static final int LOOK = 0;

	private static final int READ_FIRST = 1;

	private static final int READ_SECOND = 2;

	private static final int READ_SEQUENCE = 3;

	private final int handOffs;

	private final Without without;

	private final Write[] order;

	HandOffRingProtocol(int handOffs, Without without) {
		this.handOffs = handOffs;
		this.without = without;
		this.order = order(without);
	}

	private static Write[] order(Without without) {
		if (without == Without.SEQUENCE_BEFORE_FIELDS) {
			return new Write[] { Write.FIRST, Write.SECOND, Write.SEQUENCE, Write.COUNT };
		}
		if (without == Without.FIELDS_BEFORE_COUNT) {
			return new Write[] { Write.SEQUENCE, Write.FIRST, Write.COUNT, Write.SECOND };
		}
		return Write.values();
	}

	@Override
	public byte[] start() {
		return new byte[WIDTH];
	}

	@Override
	public int actors() {
		return 2;
	}

	@Override
	public void steps(byte[] state, int actor, Steps steps) {
		if (actor == 0) {
			write(state, steps);
		}
		else {
			read(state, steps);
		}
	}

	private void write(byte[] state, Steps steps) {
		int pc = state[WRITER_PC];
		if (pc == 0) {
			if (state[WRITING] < this.handOffs) {
				byte[] next = steps.may("leadership is taken");
				next[WRITING]++;
				next[WRITER_PC] = 1;
			}
			return;
		}
		Write write = this.order[pc - 1];
		byte[] next = steps.must("leader: " + write);
		int slot = state[WRITING] % CAPACITY;
		switch (write) {
			case SEQUENCE -> next[SEQUENCE + slot] = state[WRITING];
			case FIRST -> next[FIRST + slot] = state[WRITING];
			case SECOND -> next[SECOND + slot] = state[WRITING];
			case COUNT -> next[LATEST] = state[WRITING];
		}
		next[WRITER_PC] = (byte) ((pc < this.order.length) ? pc + 1 : 0);
	}

	private void read(byte[] state, Steps steps) {
		int slot = state[WANTED] % CAPACITY;
		boolean lookFirst = this.without == Without.LOOK_AFTER_FIELDS;
		switch (state[READER_PC]) {
			case LOOK -> {
				for (int wanted = Math.max(1, state[LATEST] - CAPACITY + 1); wanted <= state[LATEST]; wanted++) {
					byte[] next = steps.may("reader: wants " + wanted);
					next[WANTED] = (byte) wanted;
					next[RESULT] = NOTHING;
					next[READER_PC] = (byte) (lookFirst ? READ_SEQUENCE : READ_FIRST);
				}
			}
			case READ_FIRST -> {
				byte[] next = steps.must("reader: first field");
				next[COPY_FIRST] = state[FIRST + slot];
				next[READER_PC] = READ_SECOND;
			}
			case READ_SECOND -> {
				byte[] next = steps.must("reader: second field");
				next[COPY_SECOND] = state[SECOND + slot];
				if (lookFirst) {
					end(next, ACCEPTED);
				}
				else {
					next[READER_PC] = READ_SEQUENCE;
				}
			}
			default -> {
				byte[] next = steps.must("reader: sequence number");
				if (state[SEQUENCE + slot] != state[WANTED]) {
					end(next, REFUSED);
				}
				else if (lookFirst) {
					next[READER_PC] = READ_FIRST;
				}
				else {
					end(next, ACCEPTED);
				}
			}
		}
	}

	private static void end(byte[] next, int result) {
		next[RESULT] = (byte) result;
		next[READER_PC] = LOOK;
	}

	@Override
	public String violation(byte[] state) {
		if (state[RESULT] == ACCEPTED) {
			if (state[COPY_FIRST] != state[COPY_SECOND]) {
				return "a torn hand-off was read";
			}
			if (state[COPY_FIRST] != state[WANTED]) {
				return "another hand-off was taken for the one that was wanted";
			}
		}
		// Unless the leader has begun to overwrite it.
		if (state[RESULT] == REFUSED && state[WRITING] < state[WANTED] + CAPACITY) {
			return "a hand-off that is known and kept was not read";
		}
		return null;
	}

	@Override
	public String violationAtRest(byte[] state) {
		return null;
	}

	@Override
	public String describe(byte[] state) {
		return Arrays.toString(state);
	}

}
