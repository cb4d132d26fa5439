package org.leaderfollowers.internal.proxy;

import java.net.InetSocketAddress;

import org.jspecify.annotations.Nullable;

/**
 * The contents of a header of the PROXY protocol: both addresses, or neither. If there
 * are no addresses, those of the socket apply: the proxy connects for itself, for example
 * for a health check, or it does not know the client's address or cannot express it.
 *
 * @param source the address of the client
 * @param destination the address that the client connected to
 */
public record ProxyHeader(@Nullable InetSocketAddress source, @Nullable InetSocketAddress destination) {

	/** A header without addresses. */
	static final ProxyHeader WITHOUT_ADDRESSES = new ProxyHeader(null, null);

}
