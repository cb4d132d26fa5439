package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentMap;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;

/**
 * A connection of a client to a {@link TcpServer}, or one datagram that a client has sent
 * to a {@link UdpServer}, which tells what the methods mean then. All methods may be
 * called by any thread, inside and outside of a handler, and none of them blocks.
 */
public interface Connection {

	/**
	 * Identifies the connection within its server.
	 * @return a number that is not used again while the server lives, from 1
	 */
	long id();

	/**
	 * Sends a message: frames the payload and writes it to the socket at once. What the
	 * socket does not take is kept and written when it does; messages of one thread are
	 * written in the order of the calls, and a message is never torn by another.
	 * <p>
	 * A peer that does not read is felt in three steps: while half of the server's
	 * maximum outbound size waits, no further messages are read from it; when all of it
	 * waits, {@code send} refuses; when the peer takes no byte for the write timeout, the
	 * connection is closed.
	 * @param message the payload, from position to limit, which are the same after the
	 * call. It has been written or copied when this method returns
	 * @throws ConnectionClosedException if the connection is closed: the message is not
	 * accepted
	 * @throws SlowConsumerException if as many bytes wait as may wait: the message is not
	 * accepted
	 * @throws IllegalArgumentException if the framing cannot express the payload, for
	 * example a line that contains a line feed, or if it is too large for a datagram
	 * @throws ReplyRatioException if it is a reply to a datagram and would take more than
	 * is allowed for that
	 */
	void send(ByteBuffer message);

	/**
	 * Closes the connection after what was accepted by {@link #send} has been written.
	 * Messages that were received but not handled yet are not handled any more. Does
	 * nothing if the connection is closed already.
	 */
	void close();

	/**
	 * Closes the connection as if its handler had thrown the failure: for replies that
	 * come later and fail. {@link MessageHandler#onError} is called by a thread of the
	 * pool, for a datagram by the calling thread, and the reason is
	 * {@link CloseReason#HANDLER_ERROR}. Does nothing if the connection is closed
	 * already, or if the failure tells that it was.
	 * @param failure what failed
	 */
	void fail(Throwable failure);

	/**
	 * Whether the connection can still be used.
	 * @return {@code false} from the moment that a close was asked for or detected
	 */
	boolean isOpen();

	/**
	 * How much was accepted by {@link #send} and waits for the peer to read.
	 * @return bytes, framing included
	 */
	long pendingBytes();

	/**
	 * Whether the peer reads as fast as is sent to it. Senders that need not answer at
	 * once, of a large file for example, stop when it does not and go on at
	 * {@link MessageHandler#onWritable}.
	 * @return {@code false} from when half of the server's maximum outbound size waits
	 * until no more than a quarter does
	 */
	boolean isWritable();

	/**
	 * Takes no further message of this connection until the suspension is ended, for
	 * example because the reply to the last one is still to come from elsewhere, and
	 * replies are to be sent in the order of the messages. Nothing is read meanwhile, so
	 * that a peer that goes on sending is slowed down, and a drain waits. If neither side
	 * sends anything for the idle timeout, the connection is closed all the same.
	 * <p>
	 * Called by the handler of this connection, it holds up the very next message; by
	 * another thread, one may still be handled.
	 * @return to be resumed once. If a connection is suspended several times, all of them
	 * have to be
	 */
	Suspension suspend();

	/**
	 * The address of the client: what a trusted proxy tells by the PROXY protocol, or
	 * else the other end of the socket.
	 * @return address and port; still known when the connection is closed
	 */
	InetSocketAddress remoteAddress();

	/**
	 * The address of the other end of the socket.
	 * @return that of the {@linkplain #remoteAddress() client}, unless something between,
	 * a load balancer for example, has told on whose behalf it connected
	 */
	default InetSocketAddress transportAddress() {
		return remoteAddress();
	}

	/**
	 * What was agreed upon with the client by TLS: protocol, cipher suite, and the
	 * certificates of both. Any thread.
	 * @return {@code null} if the connection is not encrypted
	 */
	default @Nullable SSLSession sslSession() {
		return null;
	}

	/**
	 * The address that the client connected to: that of a trusted proxy if it tells so by
	 * the PROXY protocol, or else this end of the socket.
	 * @return address and port; still known when the connection is closed
	 */
	InetSocketAddress localAddress();

	/**
	 * What the application attaches to the connection, for example its session. Gone with
	 * the connection.
	 * @return a map for any thread
	 */
	ConcurrentMap<String, Object> attributes();

	/**
	 * The name of the server.
	 * @return {@code default} unless it was given another
	 */
	String server();

}
