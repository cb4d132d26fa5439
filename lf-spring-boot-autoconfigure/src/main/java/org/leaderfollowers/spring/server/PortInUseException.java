package org.leaderfollowers.spring.server;

import org.leaderfollowers.TcpServer;

/**
 * Thrown when a server cannot be started because something else listens on its port.
 */
@SuppressWarnings("serial")
public class PortInUseException extends ServerBindException {

	PortInUseException(Throwable cause, TcpServer server, ServerRegistration registration) {
		super("Port %d is already in use".formatted(server.address().getPort()), cause, server, registration);
	}

}
