package org.leaderfollowers.spring.event;

import org.leaderfollowers.TcpClient;

/** An event of a client or of one of its connections. */
@SuppressWarnings("serial")
public abstract class ClientEvent extends LfEvent {

	ClientEvent(TcpClient client) {
		super(client);
	}

	/**
	 * Returns the client.
	 * @return the client
	 */
	public final TcpClient getClient() {
		return (TcpClient) getSource();
	}

	@Override
	public String toString() {
		return "%s[client=%s]".formatted(getClass().getSimpleName(), getClient().name());
	}

}
