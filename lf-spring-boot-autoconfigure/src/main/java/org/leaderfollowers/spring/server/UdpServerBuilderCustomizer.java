package org.leaderfollowers.spring.server;

import org.leaderfollowers.UdpServer;

/**
 * Changes how a UDP server that is configured by properties is built. Beans of this type
 * are called in their order, after the properties have been applied, each time that the
 * server is built: when the context starts, and when it is started again after a stop.
 * Servers that are beans themselves are not customized.
 */
@FunctionalInterface
public interface UdpServerBuilderCustomizer {

	/**
	 * Customizes a server.
	 * @param server the name of the server
	 * @param builder builds it
	 */
	void customize(String server, UdpServer.Builder builder);

}
