package org.leaderfollowers.spring.session;

import org.leaderfollowers.spring.internal.Printable;

/**
 * Thrown when a connection wants a name that was taken over too often in a short time:
 * probably several clients use the same name, and each that is thrown out logs in again.
 * The open connection keeps the name. The handler can refuse the login, and the client
 * can try again later.
 */
@SuppressWarnings("serial")
public class SessionContestedException extends RuntimeException {

	/**
	 * Creates an exception.
	 * @param holder the current entry of the name
	 * @param claim the claim that is refused
	 */
	public SessionContestedException(SessionEntry holder, SessionClaim claim) {
		super("Session '%s' was taken over %d times within %s, so further logins are refused for now: several clients seem to use the same name. The limits are 'lf.sessions.max-takeovers' and 'lf.sessions.takeover-period'"
			.formatted(Printable.of(holder.name()), holder.takeovers(), claim.takeoverPeriod()));
	}

}
