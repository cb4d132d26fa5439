package org.leaderfollowers.internal.proxy;

import java.net.InetSocketAddress;

import org.jspecify.annotations.Nullable;

/**
 * What a header of the PROXY protocol tells: both addresses, or neither of them. Neither
 * means that those of the socket are to be used, because the proxy speaks for itself, a
 * health check for example, or because it does not know the client's address or cannot
 * express it.
 *
 * @param source the address of the client
 * @param destination the address that the client connected to
 */
public record ProxyHeader(@Nullable InetSocketAddress source, @Nullable InetSocketAddress destination) {

	/** A header that tells no addresses. */
	static final ProxyHeader WITHOUT_ADDRESSES = new ProxyHeader(null, null);

}
