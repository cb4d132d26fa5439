package org.leaderfollowers.spring.client;

import org.leaderfollowers.TcpClient;

/**
 * Customizes the builder of a client that is configured by properties. Beans of this type
 * are called in their order, after the properties have been applied. Clients that are
 * beans of the application are not customized.
 */
@FunctionalInterface
public interface TcpClientBuilderCustomizer {

	/**
	 * Customizes a client.
	 * @param client the name of the client
	 * @param builder the builder
	 */
	void customize(String client, TcpClient.Builder builder);

}
