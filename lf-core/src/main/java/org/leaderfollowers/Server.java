package org.leaderfollowers;

import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * A server of any transport, whose events are processed by a {@link LeaderFollowersPool}.
 * A server is started once and closed once; any thread may call all methods.
 */
public sealed interface Server extends AutoCloseable permits TcpServer, UdpServer {

	/**
	 * The name of the server.
	 * @return {@code default} unless another name was set
	 */
	String name();

	/**
	 * The pool that serves the server.
	 * @return the pool
	 */
	LeaderFollowersPool pool();

	/**
	 * Binds the port and begins to serve. When this method returns, clients can connect
	 * or send.
	 * @throws UncheckedIOException if the address cannot be bound, with the
	 * {@link java.net.BindException} or {@link java.net.SocketException} as its cause
	 * @throws IllegalStateException if the server was started or closed before
	 */
	void start();

	/**
	 * The port that the server is bound to.
	 * @return from 1 to 65535
	 * @throws IllegalStateException if the server is not bound
	 */
	int port();

	/**
	 * The address that the server is bound to, or that it will bind.
	 * @return address and port
	 */
	InetSocketAddress address();

	/**
	 * Accepts no new connections or datagrams until {@link #resume}. The port stays
	 * bound, and open connections are served. New peers wait in the queues of the system,
	 * as long as these have room. A connection that is being accepted at the moment of
	 * the call is not held up. If the server has not been started, it will start paused.
	 * Does nothing if the server is paused already.
	 */
	void pause();

	/**
	 * Accepts connections or datagrams again, including those that wait. Does nothing if
	 * the server is not paused.
	 */
	void resume();

	/**
	 * Whether the server is paused.
	 * @return {@code true} from {@link #pause} to {@link #resume}
	 */
	boolean isPaused();

	/**
	 * Drains the server and closes it, within 30 seconds.
	 * @see #close(Duration)
	 */
	@Override
	void close();

	/**
	 * Drains the server, and then closes connections that could not be drained in time.
	 * The pool is not closed.
	 * @param grace how long to drain; {@link Duration#ZERO} closes at once
	 * @return whether every message received was answered
	 */
	boolean close(Duration grace);

	/**
	 * Stops accepting, answers every message that has been received, writes the output
	 * that waits, and closes each connection when this is done. A message that has begun
	 * to arrive may be completed. If a handler calls this method, the drain does not wait
	 * for this handler.
	 * @param grace how long to wait for the connections or replies; connections that need
	 * longer stay open
	 * @return whether everything was answered and all connections are closed. The result
	 * is also {@code false} if the server was closed meanwhile, before all connections
	 * were done
	 */
	boolean drain(Duration grace);

	/**
	 * Waits for the end of a drain or of an evacuation that has begun, without changing
	 * it.
	 * @param timeout how long to wait
	 * @return whether everything was answered and all connections are closed;
	 * {@code false} if the server still accepts, or was closed before all connections
	 * were done
	 */
	boolean awaitDrained(Duration timeout);

	/**
	 * Takes a snapshot of the server. Any thread; cheap enough for a meter.
	 * @return the current state and figures
	 */
	ServerSnapshot snapshot();

}
