package org.leaderfollowers;

import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * A server whose events are processed by a {@link LeaderFollowersPool}, whatever its
 * transport. A server is started once and closed once; all methods may be called by any
 * thread.
 */
public sealed interface Server extends AutoCloseable permits TcpServer, UdpServer {

	/**
	 * The name of the server.
	 * @return {@code default} unless it was given another
	 */
	String name();

	/**
	 * The pool that serves it.
	 * @return the pool
	 */
	LeaderFollowersPool pool();

	/**
	 * Binds the port and begins to serve. When this method returns, clients are heard.
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
	 * The address that the server is bound to, or is to be bound to.
	 * @return address and port
	 */
	InetSocketAddress address();

	/**
	 * Takes on nothing new until {@link #resume}. The port stays bound and what is open
	 * is served: peers that come now wait in the queues of the system, as far as those
	 * have room. What is being taken on at the moment of the call is not held up. A
	 * server that has not been started will start paused. Does nothing if the server is
	 * paused already.
	 */
	void pause();

	/**
	 * Takes on again what waits and what comes. Does nothing if the server is not paused.
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
	 * Drains the server, and closes what could not be drained in time. The pool is left
	 * as it is.
	 * @param grace how long to drain; {@link Duration#ZERO} closes at once
	 * @return whether every message received was answered
	 */
	boolean close(Duration grace);

	/**
	 * Takes on nothing new, and answers every message that has been received. A handler
	 * may call this method: it is not waited for then.
	 * @param grace how long to wait for that
	 * @return whether everything was answered
	 */
	boolean drain(Duration grace);

	/**
	 * Looks at the server. Any thread; cheap enough for a meter.
	 * @return what it is doing
	 */
	ServerSnapshot snapshot();

}
