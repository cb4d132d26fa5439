package org.leaderfollowers;

import org.jspecify.annotations.Nullable;

/**
 * The options for messages of one connection that are handled in parallel.
 *
 * @param maxInFlight the maximum number of messages in flight, at least 2
 * @param order selects the messages that are handled one after the other, or {@code null}
 * for none
 * @param replyOrder the order in which replies leave
 */
record WindowOptions(int maxInFlight, @Nullable MessageOrder order, ReplyOrder replyOrder) {

	/** The default if only a message order is set. */
	private static final int DEFAULT_IN_FLIGHT = 16;

	/**
	 * Creates the options of a server.
	 * @param maxInFlight the maximum number of messages in flight, or 0 if it was not set
	 * @return {@code null} if messages are handled one after the other
	 */
	static @Nullable WindowOptions of(int maxInFlight, @Nullable MessageOrder order, ReplyOrder replyOrder) {
		int inFlight = maxInFlight;
		if (inFlight == 0) {
			inFlight = (order != null) ? DEFAULT_IN_FLIGHT : 1;
		}
		return (inFlight > 1) ? new WindowOptions(inFlight, order, replyOrder) : null;
	}

	/**
	 * Returns the key of the message that was decoded last, or {@code null} for none. It
	 * is code of the application.
	 */
	@Nullable Object keyOf(MessageDecoder decoder) {
		if (this.order == null) {
			return null;
		}
		try {
			return this.order.keyOf(decoder.message());
		}
		finally {
			decoder.messageAgain();
		}
	}

}
