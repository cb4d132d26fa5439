package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Bytes that a peer sends once, unencrypted and before everything else, for example the
 * header in which a load balancer names its client. There is one object for each
 * connection, which only the owner of the connection uses.
 */
public interface Preamble {

	/**
	 * The minimum number of further bytes of the preamble. No more than these are read at
	 * once, so bytes that follow the preamble are never read with it.
	 * @return bytes; at least 1 as long as it is not complete
	 */
	int missing();

	/**
	 * Decodes received bytes.
	 * @param input the bytes that follow those of the previous call, at most as many as
	 * were missing; all of them must be read
	 * @return whether it is complete
	 * @throws IOException if this is not a valid preamble. The message says why, in words
	 * that do not come from the peer
	 */
	boolean decode(ByteBuffer input) throws IOException;

	/**
	 * The name of the preamble, for messages.
	 * @return words for the middle of a sentence, with their article
	 */
	@Override
	String toString();

}
