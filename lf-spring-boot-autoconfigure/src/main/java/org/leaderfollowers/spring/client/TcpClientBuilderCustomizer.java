package org.leaderfollowers.spring.client;

import org.leaderfollowers.TcpClient;

/**
 * Changes how a client that is configured by properties is built. Beans of this type are
 * called in their order, after the properties have been applied. Clients that are beans
 * of the application are not customized.
 */
@FunctionalInterface
public interface TcpClientBuilderCustomizer {

	/**
	 * Customizes a client.
	 * @param client the name of the client
	 * @param builder builds it
	 */
	void customize(String client, TcpClient.Builder builder);

}
