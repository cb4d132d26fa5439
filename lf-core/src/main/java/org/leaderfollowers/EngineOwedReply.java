package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/** An owed reply that is settled only once. Any thread. */
abstract class EngineOwedReply implements OwedReply {

	private final AtomicBoolean closed = new AtomicBoolean();

	/**
	 * Creates an owed reply that belongs to no message of a window.
	 * @param settled runs once
	 */
	static OwedReply of(Connection connection, Runnable settled) {
		return new EngineOwedReply() {

			@Override
			void answer(Runnable action) {
				action.run();
			}

			@Override
			void sendReply(ByteBuffer reply) {
				connection.send(reply);
			}

			@Override
			void messageFailed(Throwable failure) {
				connection.fail(failure);
			}

			@Override
			void settled() {
				settled.run();
			}

		};
	}

	@Override
	public final void send(ByteBuffer reply) {
		StackReserve.require();
		checkOpen();
		sendReply(reply);
	}

	@Override
	public final void run(Runnable action) {
		StackReserve.require();
		Objects.requireNonNull(action, "'action' must not be null");
		checkOpen();
		answer(action);
	}

	@Override
	public final void fail(Throwable failure) {
		StackReserve.require();
		Objects.requireNonNull(failure, "'failure' must not be null");
		if (this.closed.compareAndSet(false, true)) {
			try {
				messageFailed(failure);
			}
			finally {
				settled();
			}
		}
	}

	@Override
	public final void close() {
		StackReserve.require();
		if (this.closed.compareAndSet(false, true)) {
			settled();
		}
	}

	private void checkOpen() {
		if (this.closed.get()) {
			throw new IllegalStateException(
					"The owed reply is closed already: send all messages of the reply before it is closed");
		}
	}

	/** Runs an action that sends the reply. */
	abstract void answer(Runnable action);

	abstract void sendReply(ByteBuffer reply);

	abstract void messageFailed(Throwable failure);

	/** Called once when nothing more is owed. */
	abstract void settled();

}
