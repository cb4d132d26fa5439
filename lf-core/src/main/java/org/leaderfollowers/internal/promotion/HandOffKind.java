package org.leaderfollowers.internal.promotion;

/**
 * How a thread became leader. The constants and their order are those of the public type
 * of the engine.
 */
public enum HandOffKind {

	/** A woken or started thread took a leadership that its leader had given up. */
	EAGER,

	/** A thread took over from a leader whose lease had expired. */
	TAKEOVER,

	/** A thread that was awake took a leadership that was vacant or worth sharing. */
	RECLAIMED

}
