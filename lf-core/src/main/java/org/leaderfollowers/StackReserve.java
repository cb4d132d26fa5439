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
 * each method that its whole frame fits. A few frames are large here. An interpreted one
 * has room for all local variables of its method, used or not. A compiled one has room
 * for the values that are kept across a call. Nearly no call keeps any, so none are
 * loaded; they are kept at times because the compiler leaves out code that never runs,
 * and its room in the frame with it. One frame takes 1 KB when compiled and 2 KB
 * otherwise. The whole takes 10 ns (JDK 17 and 25).
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
	 * How many calls keep the values at first. The compiler includes this only if it has
	 * run before.
	 */
	private static final int FIRST_CALLS = 2000;

	/** How many later calls keep them: one of so many, a power of two. */
	private static final int PERIOD = 4096;

	/** Zeros. The compiler does not know that they do not change during a call. */
	private static final long[] V = new long[128];

	/** A thread that waits for a reply may lead and run handlers of other connections. */
	private static final int FRAMES_TO_LEAD = 64;

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
		grow(FRAMES, keepsValues());
	}

	/**
	 * Checks that the calling thread can wait for a reply, and lead meanwhile.
	 * @throws StackOverflowError if too little of its stack is left
	 */
	static void requireToLead() {
		grow(FRAMES_TO_LEAD, keepsValues());
	}

	/**
	 * Checks that the calling thread can call a library that takes locks, such as the
	 * client of a data store: an overflow in the middle would leave a lock behind that
	 * all threads need. There is also room to wait for the result afterwards, by
	 * {@link LeaderFollowersPool#await}, a few frames deeper than here. Takes about 1 µs.
	 * Any thread.
	 * @throws StackOverflowError if less than 64 KB of its stack are left
	 */
	public static void requireForLibrary() {
		grow(FRAMES_TO_LEAD + 1, keepsValues());
	}

	private static boolean keepsValues() {
		if (calls < FIRST_CALLS) {
			calls++;
			return true;
		}
		return (ThreadLocalRandom.current().nextInt() & (PERIOD - 1)) == 0;
	}

	private static long grow(int frames, boolean keepsValues) {
		if (!keepsValues) {
			return (frames > 1) ? grow(frames - 1, false) : 0;
		}
		// @formatter:off
		long v0 = V[0], v1 = V[1], v2 = V[2], v3 = V[3], v4 = V[4], v5 = V[5], v6 = V[6], v7 = V[7];
		long v8 = V[8], v9 = V[9], v10 = V[10], v11 = V[11], v12 = V[12], v13 = V[13], v14 = V[14], v15 = V[15];
		long v16 = V[16], v17 = V[17], v18 = V[18], v19 = V[19], v20 = V[20], v21 = V[21], v22 = V[22], v23 = V[23];
		long v24 = V[24], v25 = V[25], v26 = V[26], v27 = V[27], v28 = V[28], v29 = V[29], v30 = V[30], v31 = V[31];
		long v32 = V[32], v33 = V[33], v34 = V[34], v35 = V[35], v36 = V[36], v37 = V[37], v38 = V[38], v39 = V[39];
		long v40 = V[40], v41 = V[41], v42 = V[42], v43 = V[43], v44 = V[44], v45 = V[45], v46 = V[46], v47 = V[47];
		long v48 = V[48], v49 = V[49], v50 = V[50], v51 = V[51], v52 = V[52], v53 = V[53], v54 = V[54], v55 = V[55];
		long v56 = V[56], v57 = V[57], v58 = V[58], v59 = V[59], v60 = V[60], v61 = V[61], v62 = V[62], v63 = V[63];
		long v64 = V[64], v65 = V[65], v66 = V[66], v67 = V[67], v68 = V[68], v69 = V[69], v70 = V[70], v71 = V[71];
		long v72 = V[72], v73 = V[73], v74 = V[74], v75 = V[75], v76 = V[76], v77 = V[77], v78 = V[78], v79 = V[79];
		long v80 = V[80], v81 = V[81], v82 = V[82], v83 = V[83], v84 = V[84], v85 = V[85], v86 = V[86], v87 = V[87];
		long v88 = V[88], v89 = V[89], v90 = V[90], v91 = V[91], v92 = V[92], v93 = V[93], v94 = V[94], v95 = V[95];
		long v96 = V[96], v97 = V[97], v98 = V[98], v99 = V[99], v100 = V[100], v101 = V[101], v102 = V[102], v103 = V[103];
		long v104 = V[104], v105 = V[105], v106 = V[106], v107 = V[107], v108 = V[108], v109 = V[109], v110 = V[110], v111 = V[111];
		long v112 = V[112], v113 = V[113], v114 = V[114], v115 = V[115], v116 = V[116], v117 = V[117], v118 = V[118], v119 = V[119];
		long v120 = V[120], v121 = V[121], v122 = V[122], v123 = V[123], v124 = V[124], v125 = V[125], v126 = V[126], v127 = V[127];
		long below = (frames > 1) ? grow(frames - 1, true) : 0;
		return below ^ v0 ^ v1 ^ v2 ^ v3 ^ v4 ^ v5 ^ v6 ^ v7 ^ v8 ^ v9 ^ v10 ^ v11 ^ v12 ^ v13 ^ v14 ^ v15
				^ v16 ^ v17 ^ v18 ^ v19 ^ v20 ^ v21 ^ v22 ^ v23 ^ v24 ^ v25 ^ v26 ^ v27 ^ v28 ^ v29 ^ v30 ^ v31
				^ v32 ^ v33 ^ v34 ^ v35 ^ v36 ^ v37 ^ v38 ^ v39 ^ v40 ^ v41 ^ v42 ^ v43 ^ v44 ^ v45 ^ v46 ^ v47
				^ v48 ^ v49 ^ v50 ^ v51 ^ v52 ^ v53 ^ v54 ^ v55 ^ v56 ^ v57 ^ v58 ^ v59 ^ v60 ^ v61 ^ v62 ^ v63
				^ v64 ^ v65 ^ v66 ^ v67 ^ v68 ^ v69 ^ v70 ^ v71 ^ v72 ^ v73 ^ v74 ^ v75 ^ v76 ^ v77 ^ v78 ^ v79
				^ v80 ^ v81 ^ v82 ^ v83 ^ v84 ^ v85 ^ v86 ^ v87 ^ v88 ^ v89 ^ v90 ^ v91 ^ v92 ^ v93 ^ v94 ^ v95
				^ v96 ^ v97 ^ v98 ^ v99 ^ v100 ^ v101 ^ v102 ^ v103 ^ v104 ^ v105 ^ v106 ^ v107 ^ v108 ^ v109 ^ v110 ^ v111
				^ v112 ^ v113 ^ v114 ^ v115 ^ v116 ^ v117 ^ v118 ^ v119 ^ v120 ^ v121 ^ v122 ^ v123 ^ v124 ^ v125 ^ v126 ^ v127;
		// @formatter:on
	}

}
