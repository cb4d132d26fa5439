package org.leaderfollowers;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Makes sure that enough of the stack is left for the engine, before a method of its
 * public interface changes anything.
 * <p>
 * If the application has used up its stack, the engine must not be cut off in the middle:
 * {@code SocketChannel} would keep its lock for ever, and each thread that closes or
 * selects the channel later would wait for it. A request to the leader could be lost as
 * well. The overflow is therefore provoked here, where nothing has happened yet, and the
 * application receives it.
 * <p>
 * Java has no way to ask for the rest of the stack, but HotSpot checks at the entry of
 * each method that its whole frame fits. A few frames are large here, because the
 * expression keeps 128 values across a call. Nearly no call evaluates it, so the values
 * are not loaded; they are evaluated at times because the compiler leaves out code that
 * never runs, and their room in the frame with it. One frame takes 1 KB when compiled by
 * C2 and 3 KB otherwise. The whole takes 14 ns (JDK 17 and 25).
 */
public final class StackReserve {

	/**
	 * Enough for a write to a socket. It needs 3 KB of the stack, and the encryption of a
	 * record 6 KB, interpreted or compiled by C1 (measured on JDK 17 and 25; not for C2).
	 * With more frames than the processor predicts returns for, usually 16, each one
	 * would take ten times as long.
	 */
	private static final int FRAMES = 8;

	/**
	 * How many calls evaluate the expression at first. Interpreted frames are large only
	 * then, and the compiler includes the expression only if it has run before.
	 */
	private static final int FIRST_CALLS = 2000;

	/** How many later calls evaluate it: one of so many, a power of two. */
	private static final int PERIOD = 4096;

	/** Zeros. The compiler does not know that they do not change during a call. */
	private static final long[] V = new long[128];

	/** A thread that waits for a reply may lead and run handlers of other connections. */
	private static final int FRAMES_TO_LEAD = 64;

	/** Enough for a command to a data store; its depth was not measured. */
	private static final int FRAMES_FOR_LIBRARY = 32;

	/** The calls so far, up to the first ones. Several threads may count one. */
	private static int calls;

	static {
		// Used only after the first calls. If a class cannot be initialised because the
		// stack ends, it can never be used any more.
		ThreadLocalRandom.current();
	}

	private StackReserve() {
	}

	/**
	 * Checks that the calling thread can call the engine.
	 * @throws StackOverflowError if too little of its stack is left
	 */
	static void require() {
		grow(FRAMES, evaluates());
	}

	/**
	 * Checks that the calling thread can wait for a reply, and lead meanwhile.
	 * @throws StackOverflowError if too little of its stack is left
	 */
	static void requireToLead() {
		grow(FRAMES_TO_LEAD, evaluates());
	}

	/**
	 * Checks that the calling thread can call a library that takes locks, such as the
	 * client of a data store: an overflow in the middle would leave a lock behind that
	 * all threads need. Takes well below 1 µs. Any thread.
	 * @throws StackOverflowError if less than 32 KB of its stack are left
	 */
	public static void requireForLibrary() {
		grow(FRAMES_FOR_LIBRARY, evaluates());
	}

	private static boolean evaluates() {
		if (calls < FIRST_CALLS) {
			calls++;
			return true;
		}
		return (ThreadLocalRandom.current().nextInt() & (PERIOD - 1)) == 0;
	}

	private static long grow(int frames, boolean evaluates) {
		if (!evaluates) {
			return (frames > 1) ? grow(frames - 1, false) : 0;
		}
		// @formatter:off
		return V[0] ^ (V[1] ^ (V[2] ^ (V[3] ^ (V[4] ^ (V[5] ^ (V[6] ^ (V[7] ^ (
				V[8] ^ (V[9] ^ (V[10] ^ (V[11] ^ (V[12] ^ (V[13] ^ (V[14] ^ (V[15] ^ (
				V[16] ^ (V[17] ^ (V[18] ^ (V[19] ^ (V[20] ^ (V[21] ^ (V[22] ^ (V[23] ^ (
				V[24] ^ (V[25] ^ (V[26] ^ (V[27] ^ (V[28] ^ (V[29] ^ (V[30] ^ (V[31] ^ (
				V[32] ^ (V[33] ^ (V[34] ^ (V[35] ^ (V[36] ^ (V[37] ^ (V[38] ^ (V[39] ^ (
				V[40] ^ (V[41] ^ (V[42] ^ (V[43] ^ (V[44] ^ (V[45] ^ (V[46] ^ (V[47] ^ (
				V[48] ^ (V[49] ^ (V[50] ^ (V[51] ^ (V[52] ^ (V[53] ^ (V[54] ^ (V[55] ^ (
				V[56] ^ (V[57] ^ (V[58] ^ (V[59] ^ (V[60] ^ (V[61] ^ (V[62] ^ (V[63] ^ (
				V[64] ^ (V[65] ^ (V[66] ^ (V[67] ^ (V[68] ^ (V[69] ^ (V[70] ^ (V[71] ^ (
				V[72] ^ (V[73] ^ (V[74] ^ (V[75] ^ (V[76] ^ (V[77] ^ (V[78] ^ (V[79] ^ (
				V[80] ^ (V[81] ^ (V[82] ^ (V[83] ^ (V[84] ^ (V[85] ^ (V[86] ^ (V[87] ^ (
				V[88] ^ (V[89] ^ (V[90] ^ (V[91] ^ (V[92] ^ (V[93] ^ (V[94] ^ (V[95] ^ (
				V[96] ^ (V[97] ^ (V[98] ^ (V[99] ^ (V[100] ^ (V[101] ^ (V[102] ^ (V[103] ^ (
				V[104] ^ (V[105] ^ (V[106] ^ (V[107] ^ (V[108] ^ (V[109] ^ (V[110] ^ (V[111] ^ (
				V[112] ^ (V[113] ^ (V[114] ^ (V[115] ^ (V[116] ^ (V[117] ^ (V[118] ^ (V[119] ^ (
				V[120] ^ (V[121] ^ (V[122] ^ (V[123] ^ (V[124] ^ (V[125] ^ (V[126] ^ (V[127] ^ (below(frames)
				))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
				))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))));
		// @formatter:on
	}

	private static long below(int frames) {
		return (frames > 1) ? grow(frames - 1, true) : 0;
	}

}
