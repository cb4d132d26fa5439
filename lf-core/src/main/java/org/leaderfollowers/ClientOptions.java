package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.function.Predicate;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * The options that a client was built with. Times in nanoseconds.
 *
 * @param connections how many connections are kept open
 * @param sockets the socket options of its connections
 * @param correlation finds the request of a reply
 * @param maxInFlight how many exchanges may be under way on a connection
 * @param placeNanos how long a caller waits for a connection with a free place
 * @param requestNanos how long an exchange may take
 * @param minBackoffNanos the first pause after a failure
 * @param maxBackoffNanos the longest pause
 * @param heartbeatNanos how long a peer may be silent before a heartbeat is sent, or 0
 * for no heartbeats
 * @param heartbeat creates the request that a silent peer has to reply to
 * @param idempotent tests whether a request may be repeated if its connection is lost
 * @param tls the TLS configuration of the next connection, or {@code null} for none
 * @param names looks up the names of addresses
 */
record ClientOptions(int connections, TcpSocketOptions sockets, Correlation correlation, int maxInFlight,
		long placeNanos, long requestNanos, long minBackoffNanos, long maxBackoffNanos, long heartbeatNanos,
		@Nullable Supplier<ByteBuffer> heartbeat, Predicate<ByteBuffer> idempotent, Supplier<@Nullable ClientTls> tls,
		NameLookup.NameService names) {
}
