package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.RateLimit;

/**
 * Looks a name up once, on a thread of its own. A name server that does not answer holds
 * a thread for many seconds. On the threads of the pool, a few such names would leave
 * none to lead; and nothing waits for the lookup when the client or its pool is closed.
 * <p>
 * The thread writes the result before {@link #ended}, and the owner of the client's
 * connections reads it afterwards.
 */
final class NameLookup {

	private static final InetAddress[] NOTHING = {};

	private final String name;

	private final NameService names;

	private final Runnable done;

	private InetAddress[] addresses = NOTHING;

	private @Nullable Throwable failure;

	private volatile boolean ended;

	/** The name service of the system, except in tests. */
	@FunctionalInterface
	interface NameService {

		/**
		 * Looks a name up. May block.
		 * @return at least one address
		 */
		InetAddress[] lookUp(String name) throws UnknownHostException;

	}

	/**
	 * Creates a lookup that has not begun.
	 * @param name the name to look up
	 * @param names the name service
	 * @param done called by the thread of the lookup when it has ended
	 */
	NameLookup(String name, NameService names, Runnable done) {
		this.name = name;
		this.names = names;
		this.done = done;
	}

	/**
	 * Begins to look the name up.
	 * @throws OutOfMemoryError if no thread can be started
	 */
	void begin() {
		// The new thread inherits no thread locals of the thread that leads.
		Thread thread = new Thread(null, this::lookUp, "lf-lookup-" + RateLimit.printable(this.name), 0, false);
		thread.setDaemon(true);
		thread.start();
	}

	private void lookUp() {
		try {
			this.addresses = this.names.lookUp(this.name);
		}
		catch (Throwable ex) {
			// Errors are caught too, such as a lack of memory: the address is retried.
			this.failure = ex;
		}
		this.ended = true;
		this.done.run();
	}

	boolean hasEnded() {
		return this.ended;
	}

	/** Returns what the lookup, which has ended, has found: at least one address. */
	InetAddress[] addresses() throws IOException {
		if (this.failure instanceof IOException ex) {
			throw ex;
		}
		if (this.failure != null) {
			throw new IOException(this.failure);
		}
		return this.addresses;
	}

}
