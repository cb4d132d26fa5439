package org.leaderfollowers.spring;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports below the range that systems take the ports of clients from: nobody takes one
 * while the server that uses it is down.
 */
public final class FreePort {

	private FreePort() {
	}

	public static int find() {
		for (;;) {
			int port = ThreadLocalRandom.current().nextInt(20_000, 32_000);
			try (ServerSocket socket = new ServerSocket(port)) {
				return socket.getLocalPort();
			}
			catch (IOException ex) {
				// In use: the next one may be free.
			}
		}
	}

}
