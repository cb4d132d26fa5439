package org.leaderfollowers.benchmarks.soak;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

import org.leaderfollowers.Connection;

/**
 * A defect that is planted into the handlers of the soak, to show that the verdict
 * notices it.
 */
enum Plant {

	/** None. */
	NOTHING {

		@Override
		void handle(Connection connection, ByteBuffer message) {
		}

	},

	/** Each message leaves 8 KB on the heap. */
	HEAP {

		@Override
		void handle(Connection connection, ByteBuffer message) {
			this.kept.add(new byte[8 * 1024]);
		}

	},

	/** Every tenth message leaves a socket open. */
	DESCRIPTORS {

		@Override
		void handle(Connection connection, ByteBuffer message) throws IOException {
			if (this.messages.incrementAndGet() % 10 == 0) {
				this.kept.add(DatagramChannel.open());
			}
		}

	},

	/** Every hundredth message leaves a thread that never ends. */
	THREADS {

		@Override
		void handle(Connection connection, ByteBuffer message) {
			if (this.messages.incrementAndGet() % 100 == 0) {
				Thread thread = new Thread(Plant::waitForEver, "planted");
				thread.setDaemon(true);
				thread.start();
			}
		}

	},

	/** Every thousandth message is answered twice. */
	REPLIES {

		@Override
		void handle(Connection connection, ByteBuffer message) {
			if (this.messages.incrementAndGet() % 1000 == 0) {
				connection.send(message.duplicate());
			}
		}

	};

	final Queue<Object> kept = new ConcurrentLinkedQueue<>();

	final AtomicLong messages = new AtomicLong();

	abstract void handle(Connection connection, ByteBuffer message) throws IOException;

	private static void waitForEver() {
		try {
			new CountDownLatch(1).await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
