package org.leaderfollowers;

import java.nio.ByteBuffer;

import org.leaderfollowers.internal.window.MessageWindow;

/**
 * A reply that is owed for a message of a {@link WindowedConnection}. The message stays
 * in flight until the reply is settled.
 */
final class OwedByMessage extends EngineOwedReply {

	private final WindowedConnection connection;

	private final WindowedMessage message;

	OwedByMessage(WindowedConnection connection, WindowedMessage message) {
		this.connection = connection;
		this.message = message;
	}

	@Override
	void answer(Runnable action) {
		MessageWindow.Place before = WindowedMessage.answer(this.message);
		try {
			action.run();
		}
		finally {
			WindowedMessage.answer(before);
		}
	}

	@Override
	void sendReply(ByteBuffer reply) {
		answer(() -> this.connection.send(reply));
	}

	@Override
	void messageFailed(Throwable failure) {
		try {
			answer(() -> this.connection.messageFailed(this.message, null, failure));
		}
		catch (OutOfMemoryError ex) {
			// The reply is settled now, and must not be missing without a reason.
			this.connection.handle.failLater();
			throw ex;
		}
	}

	@Override
	void settled() {
		this.connection.settle(this.message);
	}

}
