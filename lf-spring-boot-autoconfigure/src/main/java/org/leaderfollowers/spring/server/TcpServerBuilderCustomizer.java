package org.leaderfollowers.spring.server;

import org.leaderfollowers.TcpServer;

/**
 * Customizes the builder of a TCP server that is configured by properties. Beans of this
 * type are called in their order, after the properties have been applied, each time that
 * the server is built: when the context starts, and when it is started again after a
 * stop. Servers that are beans themselves are not customized.
 */
@FunctionalInterface
public interface TcpServerBuilderCustomizer {

	/**
	 * Customizes a server.
	 * @param server the name of the server
	 * @param builder the builder
	 */
	void customize(String server, TcpServer.Builder builder);

}
