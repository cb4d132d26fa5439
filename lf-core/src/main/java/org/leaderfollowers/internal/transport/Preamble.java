package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * What a peer sends once, in the clear, before everything else: a header that tells for
 * whom a load balancer speaks, for example. One object for each connection; it is only
 * touched by the owner of the connection.
 */
public interface Preamble {

	/**
	 * How many further bytes it has at the least. No more than that are read at once, so
	 * what follows it is never read with it.
	 * @return bytes; at least 1 as long as it is not complete
	 */
	int missing();

	/**
	 * Takes what was received.
	 * @param input what follows the bytes of the call before, no more than were missing;
	 * to be read entirely
	 * @return whether it is complete
	 * @throws IOException if this is no such preamble. The message says why, in words
	 * that do not depend on the peer
	 */
	boolean decode(ByteBuffer input) throws IOException;

	/**
	 * What this is, for people.
	 * @return words in the middle of a sentence, with their article
	 */
	@Override
	String toString();

}
