package org.leaderfollowers.benchmarks.simulation;

/**
 * A step of the engine that costs time. Most steps are serial: of all threads that serve
 * a handle set, or use the same word of memory, only one at a time can take the step.
 */
public enum Cost {

	/** To select, however many handles are ready. */
	SELECT("select: each time", true),

	/** To select, for each handle that is ready. */
	SELECT_HANDLE("select: for each ready handle", true),

	/** To claim a handle and add it to the queue. */
	ADD("claim a handle and add it to the queue", true),

	/** To take a handle, by a thread that has the queue in its cache. */
	TAKE("take a handle from the queue, one thread", true),

	/** The same, if another thread has taken the one before. */
	TAKE_CONTENDED("take a handle from the queue, two threads in turn", true),

	/** A word of memory goes from one processor to another. */
	TRANSFER("a word of memory goes to another processor", true),

	/** To take a leased leadership over from another thread. */
	TAKE_OVER("take a leased leadership over", true),

	/** The time of the thread that wakes another one. */
	WAKE("wake a thread: for the one that wakes it", false),

	/** The time until the woken thread runs. */
	WAKE_LATENCY("wake a thread: until it runs", false),

	/** How long a thread without work looks for work before it waits. */
	SPIN("look for work before waiting", false),

	/** The system call that reads a request. */
	READ("read a request", false),

	/** The system call that writes a reply. */
	WRITE("write a reply", false),

	/**
	 * The rest of a request: decoding, clocks, bookkeeping, and the additional cost of
	 * the steps in a server.
	 */
	REST("the rest of a request", false),

	/** The load generator's time for a request. */
	GENERATOR("the load generator, for each request", false);

	private final String label;

	private final boolean serial;

	Cost(String label, boolean serial) {
		this.label = label;
		this.serial = serial;
	}

	/**
	 * The step for a reader.
	 * @return a phrase
	 */
	public String label() {
		return this.label;
	}

	/**
	 * Whether one thread at a time can take the step.
	 * @return whether it is serial
	 */
	public boolean serial() {
		return this.serial;
	}

}
