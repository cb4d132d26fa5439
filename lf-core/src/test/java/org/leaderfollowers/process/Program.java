package org.leaderfollowers.process;

import java.io.Serializable;

import org.leaderfollowers.Server;

/**
 * What a {@link ServerProcess} runs. An implementation has a constructor without
 * parameters.
 */
public interface Program {

	/**
	 * Starts the server at a random port of the loopback interface. It sends each message
	 * that begins with {@code probe} back. A server for streams uses lines, or frames
	 * with a length of four bytes.
	 * @return the server
	 */
	Server start() throws Exception;

	/** Answers a question of the test, on the thread that tells the state as well. */
	default Serializable answer(String question) throws Exception {
		throw new UnsupportedOperationException(question);
	}

}
