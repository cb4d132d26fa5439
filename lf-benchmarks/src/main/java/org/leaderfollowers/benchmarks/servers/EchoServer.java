package org.leaderfollowers.benchmarks.servers;

/**
 * A server that runs and answers each line with the same line. It was started by
 * {@link ServerKind#start} and is closed once.
 */
public interface EchoServer extends AutoCloseable {

	/**
	 * Where it listens, on the loopback interface.
	 * @return the port
	 */
	int port();

	/**
	 * What the server's own allocator holds off the heap: frameworks that have one are
	 * not to look leaner than others because the JVM does not see it.
	 * @return bytes, whether or not they are in the JVM's pool of direct buffers as well;
	 * 0 if there is no such allocator
	 */
	default long ownDirectBytes() {
		return 0;
	}

	/**
	 * Closes the port and all connections, and ends all threads of the server. What was
	 * not answered by then need not be.
	 */
	@Override
	void close();

}
