package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** A link that can be cut. */
final class TcpProxy implements AutoCloseable {

	private final ServerSocket server;

	private final int target;

	private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

	/** The connections of clients, in their order. */
	private final List<Socket> clients = new CopyOnWriteArrayList<>();

	/** Those that the target does not answer any more. */
	private final Set<Socket> unanswered = ConcurrentHashMap.newKeySet();

	/** Those whose next reply is dropped. */
	private final Set<Socket> outOfStep = ConcurrentHashMap.newKeySet();

	private volatile boolean cut;

	private volatile boolean dropsReplies;

	private volatile boolean silent;

	TcpProxy(int target) {
		this.target = target;
		try {
			this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		start(this::accept);
	}

	int port() {
		return this.server.getLocalPort();
	}

	/** Closes all connections, and each new one. */
	void cut() {
		this.cut = true;
		this.sockets.forEach(TcpProxy::close);
	}

	/** Drops what the target sends. */
	void dropReplies() {
		this.dropsReplies = true;
	}

	/** Drops everything, and closes nothing. */
	void silence() {
		this.silent = true;
	}

	/**
	 * Drops what the target sends on one connection, and closes nothing.
	 * @param index the number of the connection, from 0
	 */
	void dropReplies(int index) {
		this.unanswered.add(this.clients.get(index));
	}

	/**
	 * Drops what the target sends next on one connection: further replies seem to belong
	 * to earlier commands.
	 * @param index the number of the connection, from 0
	 */
	void dropNextReply(int index) {
		this.outOfStep.add(this.clients.get(index));
	}

	/** Whether that has happened. */
	boolean hasDroppedReplies() {
		return this.outOfStep.isEmpty();
	}

	int connections() {
		return this.clients.size();
	}

	void mend() {
		this.silent = false;
		this.dropsReplies = false;
		this.cut = false;
	}

	private static void start(Runnable task) {
		Thread thread = new Thread(task, "proxy");
		thread.setDaemon(true);
		thread.start();
	}

	private void accept() {
		try {
			while (true) {
				Socket client = this.server.accept();
				try {
					Socket peer = new Socket(InetAddress.getLoopbackAddress(), this.target);
					this.clients.add(client);
					this.sockets.add(client);
					this.sockets.add(peer);
					if (this.cut) {
						close(client);
						close(peer);
					}
					start(() -> copy(client, peer, false));
					start(() -> copy(peer, client, true));
				}
				catch (IOException ex) {
					close(client);
				}
			}
		}
		catch (IOException ex) {
			// Closed
		}
	}

	private void copy(Socket from, Socket to, boolean replies) {
		try {
			InputStream input = from.getInputStream();
			OutputStream output = to.getOutputStream();
			byte[] buffer = new byte[65_536];
			for (int length = input.read(buffer); length >= 0; length = input.read(buffer)) {
				if (!this.silent && !(replies
						&& (this.dropsReplies || this.unanswered.contains(to) || this.outOfStep.remove(to)))) {
					output.write(buffer, 0, length);
				}
			}
		}
		catch (IOException ex) {
			// Closed
		}
		finally {
			close(from);
			close(to);
			this.sockets.remove(from);
			this.sockets.remove(to);
		}
	}

	private static void close(Socket socket) {
		try {
			socket.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void close() {
		cut();
		try {
			this.server.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
