package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A port for another program, which cannot be told to listen on any free one. It is below
 * the range that systems take the ports of clients from: otherwise a client of another
 * test may get the port before the program listens on it, or while the program is started
 * again.
 */
final class FreePort {

	private static final int MIN = 20_000;

	private static final int MAX = 32_000;

	/** Ports that were found before, which may not be bound yet. */
	private static final Set<Integer> found = ConcurrentHashMap.newKeySet();

	private FreePort() {
	}

	static int find() {
		for (;;) {
			int port = ThreadLocalRandom.current().nextInt(MIN, MAX);
			try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
				if (found.add(port)) {
					return port;
				}
			}
			catch (IOException ex) {
				// In use: the next one may be free.
			}
		}
	}

}
