package org.leaderfollowers.docs;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

// tag::handler[]
@LfHandler(server = "quotes")
class QuoteHandler implements MessageHandler {

	private final Set<Connection> subscribers = ConcurrentHashMap.newKeySet();

	private volatile String latest = "none yet";

	@Override
	public void onOpen(Connection connection) {
		this.subscribers.add(connection);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		sendLatest(connection);
	}

	/** Called by any thread, whenever there is a new quote. */
	void publish(String quote) {
		this.latest = quote;
		for (Connection subscriber : this.subscribers) {
			try {
				if (subscriber.isWritable()) {
					sendLatest(subscriber);
				}
			}
			catch (ConnectionClosedException ex) {
				// The connection has closed; onClose removes it.
			}
		}
	}

	@Override
	public void onWritable(Connection connection) {
		// The quotes that the connection missed are out of date.
		sendLatest(connection);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) {
		this.subscribers.remove(connection);
	}

	private void sendLatest(Connection connection) {
		// Under the lock, no thread can send an older quote after a newer one.
		synchronized (connection) {
			connection.send(StandardCharsets.UTF_8.encode(this.latest));
		}
	}

}
// end::handler[]
