package org.leaderfollowers.internal.promotion;

/**
 * How a thread came to lead: the kinds of the public type of the engine, in its order.
 */
public enum HandOffKind {

	/** It was woken or started to take a leadership that its leader had given up. */
	EAGER,

	/** It took over from a leader whose lease had run out. */
	TAKEOVER,

	/** It was awake and took a leadership that was vacant, or worth sharing. */
	RECLAIMED

}
