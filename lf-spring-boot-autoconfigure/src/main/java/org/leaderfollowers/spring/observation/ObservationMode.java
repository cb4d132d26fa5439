package org.leaderfollowers.spring.observation;

/**
 * Whether each message is an observation.
 */
public enum ObservationMode {

	/**
	 * If anything but meters may listen to observations, such as a tracer. Otherwise the
	 * messages are timed without one, which gives the same timer at a fraction of the
	 * cost.
	 */
	AUTO,

	/**
	 * Always: for code that asks for the current observation, or adds listeners of its
	 * own to the registry while the application runs.
	 */
	ALWAYS,

	/** Never: the messages are timed, and nothing else. */
	NEVER

}
