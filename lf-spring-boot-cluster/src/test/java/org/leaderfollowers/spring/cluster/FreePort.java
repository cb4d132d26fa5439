package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A port for a node or another program, which cannot be told to listen on any free one.
 * It is below the range that systems take the ports of clients from. Until this process
 * ends, no other test gets it, although it may be bound much later.
 */
final class FreePort {

	private static final int MIN = 20_000;

	private static final int MAX = 32_000;

	/** Each byte stands for a port, and is locked by the process whose port it is. */
	private static final FileChannel ports = open();

	private static final Queue<FileLock> found = new ConcurrentLinkedQueue<>();

	private FreePort() {
	}

	private static FileChannel open() {
		Path file = Path.of(System.getProperty("java.io.tmpdir"), "lf-ports-" + System.getProperty("user.name"));
		try {
			return FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	static int find() {
		for (;;) {
			int port = ThreadLocalRandom.current().nextInt(MIN, MAX);
			try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
				FileLock lock = ports.tryLock(port, 1, false);
				if (lock != null) {
					found.add(lock);
					return port;
				}
			}
			catch (IOException | OverlappingFileLockException ex) {
				// In use: the next one may be free.
			}
		}
	}

}
