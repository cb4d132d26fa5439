package org.leaderfollowers.simulation;

/** An {@link Error} that a simulated handler throws. */
@SuppressWarnings("serial")
public final class SimulatedFailure extends Error {

	/** Creates a failure. */
	public SimulatedFailure() {
		super("simulated", null, false, false);
	}

}
