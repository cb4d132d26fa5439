package org.leaderfollowers.spring.server;

import org.leaderfollowers.Server;

/**
 * Thrown when a server cannot be started because the machine does not have its address.
 */
@SuppressWarnings("serial")
public class AddressNotAvailableException extends ServerBindException {

	AddressNotAvailableException(Throwable cause, Server server, ServerRegistration registration) {
		super("Address %s is not available".formatted(server.address().getHostString()), cause, server, registration);
	}

}
