package org.leaderfollowers.spring.server;

import org.leaderfollowers.Server;

/**
 * Thrown when a server cannot be started because the process must not listen on its port.
 */
@SuppressWarnings("serial")
public class PortNotPermittedException extends ServerBindException {

	PortNotPermittedException(Throwable cause, Server server, ServerRegistration registration) {
		super("Listening on port %d is not permitted".formatted(server.address().getPort()), cause, server,
				registration);
	}

}
