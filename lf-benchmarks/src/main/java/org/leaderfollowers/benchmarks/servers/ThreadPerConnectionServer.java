package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

/**
 * A thread for each connection, which reads, handles and writes with blocking sockets:
 * the simplest code, if threads cost nothing. Platform threads cost something; virtual
 * threads are meant to cost almost nothing.
 */
final class ThreadPerConnectionServer implements EchoServer {

	/**
	 * The stacks are never deep. Ten thousand stacks of the usual size would be 10 GB.
	 */
	private static final long STACK_SIZE = 256 * 1024;

	/** Each connection has its buffer, idle or not; it grows for longer lines. */
	private static final int INITIAL_BUFFER_SIZE = 4 * 1024;

	private final ServerOptions options;

	private final LineEcho echo;

	private final Consumer<Runnable> starter;

	private final ServerSocket listening;

	private final Thread acceptor = new Thread(this::accept, "acceptor");

	private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

	/**
	 * The servers of other ports: their connections share the processors, but no threads.
	 */
	private final List<EchoServer> neighbours = new ArrayList<>();

	private ThreadPerConnectionServer(ServerOptions options, Runnable work, Consumer<Runnable> starter)
			throws IOException {
		this.options = options;
		this.echo = new LineEcho(work, options.maxMessage());
		this.starter = starter;
		this.listening = new ServerSocket(0, Loopback.BACKLOG, Loopback.address());
		this.acceptor.start();
	}

	static EchoServer onPlatformThreads(ServerOptions options, Runnable work) throws IOException {
		return new ThreadPerConnectionServer(options, work,
				(connection) -> new Thread(null, connection, "connection", STACK_SIZE, false).start());
	}

	static EchoServer onVirtualThreads(ServerOptions options, Runnable work) throws IOException {
		MethodHandle startVirtualThread = startVirtualThread();
		if (startVirtualThread == null) {
			throw new UnsupportedOperationException("no virtual threads");
		}
		return new ThreadPerConnectionServer(options, work, (connection) -> {
			try {
				startVirtualThread.invoke(connection);
			}
			catch (Throwable ex) {
				throw new IllegalStateException("No virtual thread could be started", ex);
			}
		});
	}

	static boolean hasVirtualThreads() {
		return startVirtualThread() != null;
	}

	private static @Nullable MethodHandle startVirtualThread() {
		if (Runtime.version().feature() < 21) {
			// In some JDKs, virtual threads are a preview, and the call would throw.
			return null;
		}
		try {
			return MethodHandles.publicLookup()
				.findStatic(Thread.class, "startVirtualThread", MethodType.methodType(Thread.class, Runnable.class));
		}
		catch (ReflectiveOperationException ex) {
			return null;
		}
	}

	private void accept() {
		while (!this.listening.isClosed()) {
			try {
				Socket socket = this.listening.accept();
				this.sockets.add(socket);
				this.starter.accept(() -> serve(socket));
			}
			catch (IOException | OutOfMemoryError ex) {
				// An OutOfMemoryError if the system has no more threads.
				if (!this.listening.isClosed()) {
					Failures.report("No more connections are accepted", ex);
				}
				return;
			}
		}
		// Connections that were accepted while the others were closed.
		this.sockets.forEach(ThreadPerConnectionServer::close);
	}

	private void serve(Socket socket) {
		try (socket) {
			socket.setTcpNoDelay(true);
			exchange(socket.getInputStream(), socket.getOutputStream());
		}
		catch (IOException ex) {
			// The peer has disconnected, or the server is being closed.
		}
		finally {
			this.sockets.remove(socket);
		}
	}

	private void exchange(InputStream input, OutputStream output) throws IOException {
		ByteBuffer buffer = ByteBuffer.allocate(INITIAL_BUFFER_SIZE);
		for (;;) {
			if (!buffer.hasRemaining()) {
				int grown = Math.min(2 * buffer.capacity(), this.echo.maxLine());
				buffer = ByteBuffer.allocate(grown).put(buffer.flip());
			}
			int scanned = buffer.position();
			int received = input.read(buffer.array(), scanned, buffer.remaining());
			if (received < 0) {
				return;
			}
			int end = scanned + received;
			int rest = this.echo.answer(buffer.position(end), scanned);
			if (buffer.hasRemaining()) {
				output.write(buffer.array(), 0, buffer.limit());
			}
			buffer.limit(end).position(rest).compact();
		}
	}

	@Override
	public int port() {
		return this.listening.getLocalPort();
	}

	@Override
	public int open(Runnable work) throws IOException {
		EchoServer neighbour = new ThreadPerConnectionServer(this.options, work, this.starter);
		this.neighbours.add(neighbour);
		return neighbour.port();
	}

	@Override
	public void close() {
		this.neighbours.forEach(EchoServer::close);
		try {
			this.listening.close();
		}
		catch (IOException ex) {
			Failures.report("The port could not be closed", ex);
		}
		Threads.join(this.acceptor);
		this.sockets.forEach(ThreadPerConnectionServer::close);
	}

	private static void close(Socket socket) {
		try {
			socket.close();
		}
		catch (IOException ex) {
			// The peer has disconnected, or will notice it.
		}
	}

}
