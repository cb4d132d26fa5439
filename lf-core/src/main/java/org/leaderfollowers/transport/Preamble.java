package org.leaderfollowers.transport;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * What a peer sends once, in the clear, before everything else: a header that tells for
 * whom a load balancer speaks, for example. One object for each connection; it is only
 * touched by the owner of the connection.
 */
public interface Preamble {

	/**
	 * The most that it can be.
	 * @return bytes, at least 1
	 */
	int maxLength();

	/**
	 * Looks at all that was received so far.
	 * @param input from the first byte of the connection on. If the preamble is complete,
	 * the position is moved behind it; what follows belongs to what comes next
	 * @return whether it is complete
	 * @throws IOException if this is no such preamble. The message says why, in words
	 * that do not depend on the peer
	 */
	boolean decode(ByteBuffer input) throws IOException;

}
