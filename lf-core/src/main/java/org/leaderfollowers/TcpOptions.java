package org.leaderfollowers;

import org.jspecify.annotations.Nullable;

/**
 * What a {@link TcpServer} was built with, beside its name, address, framing and handler.
 *
 * @param backlog how many connections the system keeps that are not yet accepted
 * @param sockets the socket options of its connections
 * @param limits what one connection may take
 * @param timeouts how long things may take
 * @param maxConnections how many connections may be open
 * @param trustedNetworks whose peers send the header of the PROXY protocol
 * @param directClients whether other peers are served as well
 * @param tls which TLS to speak first, or {@code null} for none
 * @param exchanges the requests to clients, or {@code null} for none
 * @param window how messages of one connection are handled in parallel, or {@code null}
 */
record TcpOptions(int backlog, TcpSocketOptions sockets, ConnectionContext.Limits limits, ConnectionTimeouts timeouts,
		int maxConnections, TrustedNetworks trustedNetworks, boolean directClients, @Nullable ServerTls tls,
		@Nullable ServerExchanges exchanges, @Nullable WindowOptions window) {

	/** Whether clients that are not in a trusted network are served. */
	boolean servesDirectClients() {
		return this.directClients || this.trustedNetworks.isEmpty();
	}

}
