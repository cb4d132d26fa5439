package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;

/**
 * A running server that answers each line with the same line. It was started by
 * {@link ServerKind#start} and is closed once.
 */
public interface EchoServer extends AutoCloseable {

	/**
	 * Where it listens, on the loopback interface.
	 * @return the port
	 */
	int port();

	/**
	 * Opens another port, whose connections are served by the same threads.
	 * @param work what its handler does before it replies
	 * @return the port
	 * @throws IOException if it cannot be opened
	 * @throws UnsupportedOperationException if this kind has one port only
	 */
	default int open(Runnable work) throws IOException {
		throw new UnsupportedOperationException("it has one port only");
	}

	/**
	 * Returns the memory that the server's own allocator holds off the heap: a framework
	 * with its own allocator must not look better than others because the JVM does not
	 * see its memory.
	 * @return bytes, whether or not they are in the JVM's pool of direct buffers as well;
	 * 0 if there is no such allocator
	 */
	default long ownDirectBytes() {
		return 0;
	}

	/**
	 * Closes the port and all connections, and ends all threads of the server. Messages
	 * that have not been answered by then may be lost.
	 */
	@Override
	void close();

}
