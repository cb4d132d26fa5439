package org.leaderfollowers;

/**
 * The order in which the replies of one connection leave, if its messages are handled in
 * parallel; see {@link TcpServer.Builder#maxInFlightPerConnection(int)}.
 */
public enum ReplyOrder {

	/**
	 * Each reply leaves when it is sent. For protocols whose replies identify the message
	 * that they answer.
	 */
	COMPLETION,

	/**
	 * Replies leave in the order of the messages. For protocols whose clients take the
	 * next reply for the answer to their oldest request. Everything that is sent while a
	 * message is handled, or by an {@link OwedReply} of it, counts as its reply, and is
	 * kept until all earlier messages have been handled.
	 * <p>
	 * If a thread that answers none of the messages closes the connection, replies that
	 * are kept at that time are dropped: they cannot leave before the replies to earlier
	 * messages, and these are no longer accepted.
	 */
	ARRIVAL

}
