package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentMap;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;

/**
 * A connection of a client to a {@link TcpServer}, a connection that a {@link TcpClient}
 * has opened, or one datagram that a client has sent to a {@link UdpServer}.
 * {@link UdpServer} describes the meaning of the methods for a datagram. Unless a method
 * says otherwise, any thread may call it, inside and outside of a handler. Only
 * {@link #exchange} and {@link #receive} block.
 */
public interface Connection {

	/**
	 * Identifies the connection within its server.
	 * @return a number from 1, which is not used again while the server lives
	 */
	long id();

	/**
	 * Sends a message: frames the payload and writes it to the socket at once. If the
	 * socket does not take all bytes, the rest is copied and written later. Messages of
	 * one thread are written in the order of the calls, and the bytes of two messages are
	 * never mixed.
	 * <p>
	 * A peer that does not read has three effects, one after the other. While half of the
	 * server's maximum outbound size waits, no further messages are read from the peer.
	 * When all of it waits, {@code send} throws a {@link SlowConsumerException}. When the
	 * peer takes no byte for the write timeout, the connection is closed.
	 * @param message the payload, from position to limit, which are the same after the
	 * call. The payload has been written or copied when this method returns
	 * @throws ConnectionClosedException if the connection is closed: the message is not
	 * accepted
	 * @throws SlowConsumerException if the maximum number of bytes waits already: the
	 * message is not accepted
	 * @throws IllegalArgumentException if the framing cannot express the payload, for
	 * example a line that contains a line feed, or if it is too large for a datagram
	 * @throws ReplyRatioException if the message is a reply to a datagram and exceeds the
	 * maximum reply ratio
	 */
	void send(ByteBuffer message);

	/**
	 * Sends a request to the peer and waits for its reply, so that a server can send
	 * requests to its clients. The {@linkplain TcpServer.Builder#correlation correlation}
	 * of the server distinguishes replies from other messages; a connection of a
	 * {@link TcpClient} uses the correlation of the client.
	 * <p>
	 * The handler of this connection may call this method. It then reads the reply
	 * itself: messages that come before the reply are put aside, and handled in order
	 * after the handler has returned. If another thread calls this method while the
	 * handler of this connection runs, the reply is read when the handler itself waits or
	 * returns. While a thread of a pool waits, it leads if no other thread can.
	 * <p>
	 * If the messages of the connection are handled in parallel, replies are read all the
	 * time, and one message beyond the limit may be handled for each request that waits.
	 * No message is put aside: while such a connection is suspended, only replies before
	 * the next message for the handler are read.
	 * @param request the payload, from position to limit, which are the same afterwards
	 * @param timeout the time from the call to the reply, more than 0
	 * @return the reply, which belongs to the caller
	 * @throws ExchangeRejectedException if the request was not sent because the
	 * connection is closed, the maximum number of exchanges is under way, or the key is
	 * in use
	 * @throws ExchangeTimeoutException if the reply did not come in time. With
	 * {@link Correlation#inOrder()}, the connection is then closed
	 * @throws ExchangeLostException if the connection ended, or the calling thread was
	 * interrupted, before the reply came
	 * @throws IllegalStateException if the server has no correlation
	 */
	default ByteBuffer exchange(ByteBuffer request, Duration timeout) {
		throw new UnsupportedOperationException("exchange");
	}

	/**
	 * Sends a request to the peer without waiting for its reply. A thread of the pool
	 * completes the future. If the handler of this connection is running, the future is
	 * completed after the handler has returned. Code that depends on the future may
	 * block, as a handler may. Cancelling the future gives up the exchange.
	 * @param request the payload, from position to limit, which are the same afterwards
	 * @param timeout the time from the call to the reply, more than 0
	 * @return a future for the reply, or for one of the exceptions of {@link #exchange}
	 * @throws IllegalStateException if the server has no correlation
	 */
	default CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, Duration timeout) {
		throw new UnsupportedOperationException("exchangeAsync");
	}

	/**
	 * Sends a request to the peer on behalf of another program. This is the same as
	 * {@link #exchangeAsync}, except that the thread that reads the reply completes the
	 * future at once, even while this thread or the handler of this connection waits for
	 * something else. Code that depends on the future must not block, and must not use
	 * this connection.
	 * @param request the payload, from position to limit, which are the same afterwards
	 * @param timeout the time from the call to the reply, more than 0
	 * @return a future for the reply, or for one of the exceptions of {@link #exchange}
	 * @throws IllegalStateException if the server has no correlation
	 */
	default CompletableFuture<ByteBuffer> relay(ByteBuffer request, Duration timeout) {
		return exchangeAsync(request, timeout);
	}

	/**
	 * Waits for the next message of this connection while its handler runs: a
	 * conversation. The thread stays bound to the connection, so a transaction that is
	 * bound to the thread may span several messages. The message goes to the caller and
	 * to no other handler, interceptor or filter; replies to {@linkplain #exchange
	 * requests} of this side do not count as messages.
	 * <p>
	 * While the server drains, a conversation continues until the grace period ends.
	 * @param timeout how long to wait, more than 0. If no message comes in time, the
	 * connection stays open, and a later message is handled like any other
	 * @return the payload, which belongs to the caller
	 * @throws ExchangeTimeoutException if no message came in time
	 * @throws ConnectionClosedException if the connection is closed and holds no further
	 * message
	 * @throws ExchangeLostException if the thread was interrupted; its interrupt status
	 * remains set
	 * @throws IllegalStateException if the caller is not the thread that runs the handler
	 * of this connection, or if messages of this connection are handled in parallel
	 */
	default ByteBuffer receive(Duration timeout) {
		throw new UnsupportedOperationException("receive");
	}

	/**
	 * Closes the connection after everything that {@link #send} accepted has been
	 * written. Messages that were received but not handled yet are discarded, and a
	 * handler that runs can no longer reply; {@link #close(Duration)} waits for both.
	 * Does nothing if the connection is closed already.
	 * <p>
	 * If messages of the connection are handled
	 * {@linkplain TcpServer.Builder#maxInFlightPerConnection(int) in parallel}, messages
	 * in flight can no longer be replied to. There is one exception: if replies leave in
	 * the {@linkplain ReplyOrder#ARRIVAL order of arrival} and a thread that handles a
	 * message calls this method, the connection is closed behind the reply to that
	 * message. Until then, it is {@linkplain #isOpen() open}.
	 */
	void close();

	/**
	 * {@linkplain #close() Closes} the connection for a reason that the handler, the log
	 * and the meters see.
	 * @param reason {@link CloseReason#LOCAL}, {@link CloseReason#TAKEN_OVER} or
	 * {@link CloseReason#CLIENT_LIMIT}
	 * @throws IllegalArgumentException for any other reason, which only the engine can
	 * know
	 */
	default void close(CloseReason reason) {
		reason.requireOfApplication();
		close();
	}

	/**
	 * Lets the connection drain, and then closes it, for example because an operator
	 * wants to end it. Messages that have been received are answered, as if the server
	 * drained: {@link #isDraining()} becomes {@code true}, {@link MessageHandler#onDrain}
	 * is called, and everything that a drain waits for is waited for. When the grace
	 * period ends first, the connection is {@linkplain #close() closed}. The close reason
	 * is {@link CloseReason#LOCAL} in both cases, unless the server is drained meanwhile.
	 * This method does not wait. For a connection of a {@link TcpClient} and for a
	 * datagram, it is the same as {@link #close()}.
	 * @param grace how long the connection may take to answer; if there was a call
	 * before, the period that ends first counts. 0 is the same as {@link #close()}
	 * @throws IllegalArgumentException if the period is negative
	 */
	default void close(Duration grace) {
		Arguments.notNegative("grace", grace);
		close();
	}

	/**
	 * Closes the connection as if its handler had thrown the failure. Use this method if
	 * a reply that comes later fails. A thread of the pool calls
	 * {@link MessageHandler#onError}; for a datagram, the calling thread does. The close
	 * reason is {@link CloseReason#HANDLER_ERROR}. Does nothing if the connection is
	 * closed already, or if the failure reports that it was closed.
	 * @param failure what failed
	 */
	void fail(Throwable failure);

	/**
	 * Tells when the connection has ended, so that code can release what it keeps for the
	 * connection without being its handler. Costs nothing unless it is called.
	 * @return a future for the close reason. It is completed after
	 * {@link MessageHandler#onClose} has returned, by the same thread; or it is completed
	 * already. Code that depends on the future may block, as a handler may. To complete
	 * the future by other code has no effect on the connection
	 * @throws UnsupportedOperationException for a datagram
	 */
	default CompletableFuture<CloseReason> whenClosed() {
		throw new UnsupportedOperationException("whenClosed");
	}

	/**
	 * Why the connection closes or has closed. A method that handles a failure can tell
	 * by this what has failed: {@link CloseReason#HANDLER_ERROR} is the handler, and
	 * {@link CloseReason#IO_ERROR} the socket. Any thread.
	 * @return the reason, or {@code null} if no close has been requested or detected, and
	 * for a datagram
	 */
	default @Nullable CloseReason closeReason() {
		return null;
	}

	/**
	 * Whether the connection can still be used.
	 * @return {@code false} as soon as a close has been requested or detected
	 */
	boolean isOpen();

	/**
	 * Whether the connection drains: the server closes the connection when every message
	 * that has been received is answered. If the server is being
	 * {@linkplain TcpServer#evacuate evacuated}, or only this connection is being
	 * {@linkplain #close(Duration) closed}, other connections may drain before or after
	 * this one, or not. A reply can announce this, for example by
	 * {@code Connection: close}. {@link MessageHandler#onDrain} is called once when the
	 * drain begins.
	 * @return {@code true} as soon as the drain has begun
	 */
	default boolean isDraining() {
		return false;
	}

	/**
	 * How many bytes {@link #send} has accepted that still wait for the peer to read.
	 * @return bytes, framing included
	 */
	long pendingBytes();

	/**
	 * Whether the peer reads as fast as this side sends. If not, code that sends a large
	 * file, for example, should stop and continue at {@link MessageHandler#onWritable}.
	 * @return {@code false} from the moment when half of the server's maximum outbound
	 * size waits until no more than a quarter waits
	 */
	boolean isWritable();

	/**
	 * Requests a call of {@link MessageHandler#onWritable} after other connections have
	 * had their turn, even if the peer reads as fast as this side sends. Code that sends
	 * very much should stop and request this after some milliseconds: otherwise a few
	 * peers that read fast could occupy all threads of the pool. Any thread; does not
	 * block. Requests that have not been met yet count as one.
	 * @return {@code false} if the method is not called for this connection, for example
	 * because it belongs to a datagram; the caller then goes on. For a connection that is
	 * closed, {@link MessageHandler#onClose} is called instead
	 */
	default boolean requestWritable() {
		return false;
	}

	/**
	 * Sets a period after which {@link MessageHandler#onIdle} is called if nothing was
	 * received on this connection, or nothing was sent. The method is called again after
	 * each further period. The period begins now, and replaces the period of the server.
	 * Does nothing for datagrams and for closed connections.
	 * @param type {@link EventType#READ} for nothing received, {@link EventType#WRITE}
	 * for nothing sent
	 * @param period 0 for never; less than 1 millisecond counts as 1 millisecond
	 * @throws IllegalArgumentException for another type, or a negative period
	 */
	default void idleAfter(EventType type, Duration period) {
		throw new UnsupportedOperationException("idleAfter");
	}

	/**
	 * The name of the connection, for example of the device at its other end.
	 * @return {@code null} if the connection has no name, or none any more
	 */
	default @Nullable String name() {
		return null;
	}

	/**
	 * Gives the connection a name by which {@link TcpServer#connection(String)} finds it,
	 * for example after a login. A name belongs to one open connection of a server. The
	 * latest connection that takes it keeps it; the earlier one stays open without a
	 * name. A closed connection takes no name and loses the name that it had.
	 * @param name not blank; replaces an earlier name of this connection
	 * @return the connection that had the name until now, for example to close it, or
	 * {@code null} if no other open connection had it
	 * @throws UnsupportedOperationException for a datagram
	 */
	default @Nullable Connection name(String name) {
		throw new UnsupportedOperationException("A datagram has no name: its sender is known by 'remoteAddress()'");
	}

	/**
	 * Gives up a {@linkplain #name(String) name}, for example after a logout. The
	 * connection stays open.
	 * @param name the name; if the connection has another one by now, it keeps that
	 * @return whether the connection had the name
	 */
	default boolean unname(String name) {
		return false;
	}

	/**
	 * Tells the server that the client has logged in; the application defines what a
	 * login is. The {@linkplain TcpServer.Builder#loginTimeout login timeout} of the
	 * server then no longer applies. Does nothing if there is no login timeout, or if
	 * this method was called before.
	 */
	default void loggedIn() {
	}

	/**
	 * Takes no further message of this connection until the suspension is ended. Use this
	 * method if another thread sends the reply to the last message later, and replies
	 * must be sent in the order of the messages. Nothing is read meanwhile, so a peer
	 * that continues to send is slowed down, and a drain waits. If neither side sends
	 * anything for the idle timeout, the connection is closed nevertheless.
	 * <p>
	 * If the handler of this connection calls this method, the very next message is held
	 * up. If another thread calls it, one more message may be handled, or as many as are
	 * in flight. Replies to {@linkplain #exchange requests} of this side are still read;
	 * if messages of the connection are handled in parallel, only those before the next
	 * message are.
	 * <p>
	 * If messages of the connection are handled
	 * {@linkplain TcpServer.Builder#maxInFlightPerConnection(int) in parallel} and the
	 * thread that handles one of them calls this method, other messages are still
	 * handled. As after {@link #owe()}, the message keeps its place among those in flight
	 * until the suspension is ended.
	 * @return the suspension, which must be resumed. If a connection is suspended several
	 * times, each suspension must be resumed
	 */
	Suspension suspend();

	/**
	 * Announces a reply that a thread of the application will send later. A drain of the
	 * server waits until the owed reply is closed. If the peer has closed its side, the
	 * connection also stays open until then. Unlike after {@link #suspend()}, further
	 * messages are handled meanwhile. If neither side sends anything for the idle
	 * timeout, the connection is closed nevertheless.
	 * <p>
	 * If messages of the connection are handled
	 * {@linkplain TcpServer.Builder#maxInFlightPerConnection(int) in parallel} and the
	 * thread that handles one of them calls this method, the message keeps its place
	 * among those in flight until the owed reply is closed. This applies to its place in
	 * the order of {@linkplain ReplyOrder#ARRIVAL replies} and to its place before
	 * messages with an equal {@linkplain MessageOrder key}.
	 * @return the owed reply, which must be closed. If several replies are owed, each of
	 * them must be closed
	 */
	OwedReply owe();

	/**
	 * The address of the client: the address that a trusted proxy reports by the PROXY
	 * protocol, or otherwise the other end of the socket.
	 * @return address and port; available even after the connection is closed
	 */
	InetSocketAddress remoteAddress();

	/**
	 * The address of the other end of the socket.
	 * @return the address of the {@linkplain #remoteAddress() client}, or the address of
	 * a proxy, for example a load balancer, that has connected on behalf of the client
	 */
	default InetSocketAddress transportAddress() {
		return remoteAddress();
	}

	/**
	 * The result of the TLS negotiation with the client: protocol, cipher suite, and the
	 * certificates of both sides. Any thread.
	 * @return {@code null} if the connection is not encrypted
	 */
	default @Nullable SSLSession sslSession() {
		return null;
	}

	/**
	 * The address that the client connected to: the address that a trusted proxy reports
	 * by the PROXY protocol, or otherwise this end of the socket.
	 * @return address and port; available even after the connection is closed
	 */
	InetSocketAddress localAddress();

	/**
	 * Objects that the application attaches to the connection, for example its session.
	 * They are removed with the connection.
	 * @return a map that any thread may use
	 */
	ConcurrentMap<String, Object> attributes();

	/**
	 * The name of the server, or of the client that has opened the connection.
	 * @return {@code default} unless another name was set
	 */
	String server();

}
