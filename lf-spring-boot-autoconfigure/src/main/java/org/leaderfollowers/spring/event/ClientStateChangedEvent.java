package org.leaderfollowers.spring.event;

import org.leaderfollowers.ClientSnapshot.State;
import org.leaderfollowers.TcpClient;

/**
 * Published when a client was started, which does not mean that it is connected, and when
 * it was closed.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class ClientStateChangedEvent extends ClientEvent {

	private final State state;

	/**
	 * Creates a new event.
	 * @param client the client
	 * @param state the new state of the client
	 */
	public ClientStateChangedEvent(TcpClient client, State state) {
		super(client);
		this.state = state;
	}

	/**
	 * Returns the new state of the client.
	 * @return {@link State#RUNNING} or {@link State#CLOSED}
	 */
	public State getState() {
		return this.state;
	}

}
