package org.leaderfollowers;

import org.jspecify.annotations.Nullable;

/**
 * The options of a {@link TcpServer}, except its name, address, framing and handler.
 *
 * @param backlog how many connections the system keeps until they are accepted
 * @param sockets the socket options of its connections
 * @param limits the limits of one connection
 * @param timeouts the timeouts of one connection
 * @param maxConnections how many connections may be open
 * @param trustedNetworks the networks that send the header of the PROXY protocol
 * @param directClients whether clients of other networks are served as well
 * @param tls the TLS configuration, or {@code null} for none
 * @param exchanges the options of requests to clients, or {@code null} for none
 * @param window the options for messages of one connection that are handled in parallel,
 * or {@code null}
 * @param classes the pools that connections choose from, or {@code null}
 * @param guard decides which connections are served, or {@code null} to serve all
 */
record TcpOptions(int backlog, TcpSocketOptions sockets, ConnectionContext.Limits limits, ConnectionTimeouts timeouts,
		int maxConnections, TrustedNetworks trustedNetworks, boolean directClients, @Nullable ServerTls tls,
		@Nullable ServerExchanges exchanges, @Nullable WindowOptions window, ServicePools.@Nullable Options classes,
		@Nullable ConnectionGuard guard) {

	/** The correlation of requests to clients. */
	@Nullable Correlation correlation() {
		return (this.exchanges != null) ? this.exchanges.correlation() : null;
	}

	/** Whether clients outside of the trusted networks are served. */
	boolean servesDirectClients() {
		return this.directClients || this.trustedNetworks.isEmpty();
	}

	/** The options that a builder has collected. */
	static TcpOptions of(TcpServer.Builder builder, Framing framing) {
		ConnectionTimeouts timeouts = new ConnectionTimeouts(Arguments.nanos(builder.idleTimeout),
				Arguments.nanos(builder.messageTimeout), Arguments.nanos(builder.writeTimeout),
				Arguments.nanos(builder.handshakeTimeout), Arguments.nanos(builder.readIdle),
				Arguments.nanos(builder.writeIdle), Arguments.nanos(builder.loginTimeout),
				Arguments.nanos(builder.drainMessageTimeout));
		return new TcpOptions(builder.backlog, builder.socketOptions(), builder.limits(framing, builder.skipsOversized),
				timeouts, builder.maxConnections, builder.trustedNetworks, builder.directClients, builder.tls,
				(builder.correlation != null) ? new ServerExchanges(builder.correlation, builder.maxExchanges) : null,
				WindowOptions.of(builder.maxInFlight, builder.messageOrder, builder.replyOrder), builder.classes,
				builder.guard);
	}

}
