package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.function.Predicate;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * What a client was built with. Times in nanoseconds.
 *
 * @param connections how many connections are kept open
 * @param sockets the socket options of its connections
 * @param correlation finds the request of a reply
 * @param maxInFlight how many exchanges may be under way on a connection
 * @param placeNanos how long a caller waits for a connection with a free place
 * @param requestNanos how long an exchange may take
 * @param minBackoffNanos the first pause after a failure
 * @param maxBackoffNanos the longest pause
 * @param heartbeatNanos how long a peer may be silent, 0 for ever
 * @param heartbeat makes the request that a silent peer has to reply to
 * @param idempotent which requests are repeated if their connection is lost
 * @param tls how TLS is spoken by the next connection, or {@code null} for none
 */
record ClientOptions(int connections, TcpSocketOptions sockets, Correlation correlation, int maxInFlight,
		long placeNanos, long requestNanos, long minBackoffNanos, long maxBackoffNanos, long heartbeatNanos,
		@Nullable Supplier<ByteBuffer> heartbeat, Predicate<ByteBuffer> idempotent, Supplier<@Nullable ClientTls> tls) {
}
