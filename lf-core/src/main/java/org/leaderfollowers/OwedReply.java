package org.leaderfollowers;

import java.nio.ByteBuffer;

/**
 * A reply that a thread of the application will send later; see {@link Connection#owe()}.
 * A drain of the server waits until the owed reply is closed. Any thread may call all
 * methods, and none of them blocks.
 */
public interface OwedReply extends AutoCloseable {

	/**
	 * Sends a reply to the message that this owed reply was created for. If the server
	 * {@linkplain ReplyOrder#ARRIVAL keeps the order of arrival}, the reply is sent in
	 * the place of this message. Otherwise this method is the same as
	 * {@link Connection#send}. It can be called several times, until the owed reply is
	 * closed.
	 * @param reply the payload, from position to limit, which are the same after the call
	 * @throws IllegalStateException if this owed reply is closed
	 * @throws ConnectionClosedException as {@link Connection#send}
	 * @throws SlowConsumerException as {@link Connection#send}
	 * @throws IllegalArgumentException as {@link Connection#send}
	 */
	void send(ByteBuffer reply);

	/**
	 * Runs code that replies by {@link Connection#send} and does not use this owed reply.
	 * Messages that the code sends on the connection count as sent by {@link #send}.
	 * @param action run at once by the calling thread; its exceptions are thrown to the
	 * caller
	 * @throws IllegalStateException if this owed reply is closed
	 */
	void run(Runnable action);

	/**
	 * Reports that the message cannot be answered: the failure is handled as if the
	 * handler had thrown it, and this owed reply is closed. If messages of the connection
	 * are handled in parallel, the calling thread calls
	 * {@link MessageHandler#onError(Connection, Throwable)}, which can send the reply.
	 * Otherwise this method is the same as {@link Connection#fail}. Does nothing if this
	 * owed reply is closed.
	 * @param failure what failed
	 */
	void fail(Throwable failure);

	/**
	 * Declares that no further reply will follow. A second call has no effect.
	 */
	@Override
	void close();

}
