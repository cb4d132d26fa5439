package org.leaderfollowers.spring.session;

import org.leaderfollowers.spring.handler.LfConnections.Delivery;

/**
 * The outcome of sending a message to several sessions.
 *
 * @param sent how many connections have accepted the message
 * @param notWritable how many connections were skipped because too many bytes wait for
 * their clients already
 * @param gone how many connections were closed meanwhile, or have a framing that cannot
 * express the message
 * @param silentNodes how many nodes have not answered in time, or could not be reached:
 * their sessions may or may not have got the message
 */
public record SessionBroadcast(int sent, int notWritable, int gone, int silentNodes) {

	/** The outcome of sending to nobody. */
	public static final SessionBroadcast NONE = new SessionBroadcast(0, 0, 0, 0);

	/**
	 * Adds the outcome of one connection.
	 * @param delivery the outcome
	 * @return the sum
	 */
	public SessionBroadcast plus(Delivery delivery) {
		return switch (delivery) {
			case SENT -> new SessionBroadcast(this.sent + 1, this.notWritable, this.gone, this.silentNodes);
			case NOT_WRITABLE -> new SessionBroadcast(this.sent, this.notWritable + 1, this.gone, this.silentNodes);
			default -> new SessionBroadcast(this.sent, this.notWritable, this.gone + 1, this.silentNodes);
		};
	}

	/**
	 * Adds the outcome of other connections.
	 * @param other the outcome
	 * @return the sum
	 */
	public SessionBroadcast plus(SessionBroadcast other) {
		return new SessionBroadcast(this.sent + other.sent, this.notWritable + other.notWritable,
				this.gone + other.gone, this.silentNodes + other.silentNodes);
	}

}
