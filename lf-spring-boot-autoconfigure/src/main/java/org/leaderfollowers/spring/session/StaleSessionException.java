package org.leaderfollowers.spring.session;

import org.leaderfollowers.spring.internal.Printable;

/**
 * A node has refused a message for a session, because it does not hold the session with
 * the given epoch any more. Nothing was sent, so whoever wanted to send can find the new
 * holder and try again.
 */
@SuppressWarnings("serial")
public class StaleSessionException extends RuntimeException {

	/**
	 * Creates an exception.
	 * @param entry the entry that is out of date
	 */
	public StaleSessionException(SessionEntry entry) {
		super("Node '%s' does not hold session '%s' with epoch %d any more".formatted(Printable.of(entry.node()),
				Printable.of(entry.name()), entry.epoch()));
	}

}
