package org.leaderfollowers.spring.cluster;

import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * A device that keeps a connection to any node. It gives the connection up if no command
 * comes for a while, and connects to any node again.
 */
abstract class TestDevice implements Runnable {

	private static final int CONNECT_MILLIS = 5_000;

	final String name;

	final Site site;

	volatile boolean welcome;

	private volatile @Nullable Socket socket;

	TestDevice(String name, Site site) {
		this.name = name;
		this.site = site;
	}

	@Override
	public final void run() {
		while (!this.site.ended()) {
			try {
				live();
			}
			catch (IOException ex) {
				// Connects again.
			}
			if (!this.welcome) {
				// As a real device does. Otherwise those that a node refuses, each with
				// a new program, take the processors from it.
				LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextInt(100, 300)));
			}
			this.welcome = false;
		}
	}

	/** Connects once, and serves until the connection has ended. */
	abstract void live() throws IOException;

	/** Reads and answers the next message. */
	interface Step {

		/** Returns whether to go on. */
		boolean next() throws IOException;

	}

	/** Serves until the connection ends, or nothing has come for too long. */
	final void serve(Socket connection, Step step) throws IOException {
		this.socket = connection;
		connection.setSoTimeout(this.site.silenceMillis());
		while (!this.site.ended()) {
			try {
				if (!step.next()) {
					return;
				}
			}
			catch (SocketTimeoutException ex) {
				if (this.site.commanded() || !this.welcome) {
					return;
				}
			}
		}
	}

	void close() throws IOException {
		Socket current = this.socket;
		if (current != null) {
			current.close();
		}
	}

	/** What the devices have around them. */
	interface Site {

		/** Returns the port of any node. */
		int port(boolean modbus);

		/** How long a device waits for commands. */
		int silenceMillis();

		/** Whether commands are still sent. */
		boolean commanded();

		boolean ended();

		/** Notes that a device has executed a command. */
		void executed(String command);

	}

	/** A device whose messages are lines. */
	static final class Line extends TestDevice {

		private final List<Socket> abandoned = new CopyOnWriteArrayList<>();

		Line(String name, Site site) {
			super(name, site);
		}

		@Override
		void live() throws IOException {
			Socket connection = new Socket();
			connection.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), this.site.port(false)),
					CONNECT_MILLIS);
			BufferedReader reader = new BufferedReader(
					new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8));
			send(connection, "HELLO " + this.name);
			serve(connection, () -> {
				String line = reader.readLine();
				if (line == null || line.equals("LATER")) {
					return false;
				}
				if (line.equals("WELCOME")) {
					this.welcome = true;
				}
				else {
					this.site.executed(line);
					send(connection, line);
				}
				return true;
			});
			// Some devices lose their network: the node does not see an end.
			if (this.site.commanded() && ThreadLocalRandom.current().nextInt(4) == 0) {
				this.abandoned.add(connection);
			}
			else {
				connection.close();
			}
		}

		private static void send(Socket connection, String line) throws IOException {
			connection.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
		}

		@Override
		void close() throws IOException {
			super.close();
			for (Socket each : this.abandoned) {
				each.close();
			}
		}

	}

	/**
	 * A Modbus slave behind a gateway, which is the program {@code socat}. The gateway
	 * connects to a node, and the slave says first who it is.
	 */
	static final class Modbus extends TestDevice {

		static final Path SOCAT = Path.of("/usr/bin/socat");

		/** Number, protocol, the length of what follows, and the unit. */
		private static final int HEADER = 7;

		/** The same without the length. */
		private static final int NODE_HEADER = 5;

		private static final byte UNIT = 1;

		private static final byte REGISTER = 0x41;

		private static final byte WRITE_REGISTER = 6;

		private static final int ACCEPT_MILLIS = 200;

		Modbus(String name, Site site) {
			super(name, site);
		}

		/**
		 * The request to execute a command, as a node sends it: without the field of its
		 * length.
		 */
		static byte[] command(String command) {
			return ByteBuffer.allocate(NODE_HEADER + 5)
				.put(NODE_HEADER - 1, UNIT)
				.put(NODE_HEADER, WRITE_REGISTER)
				.putInt(NODE_HEADER + 1, Integer.parseInt(command.substring(1)))
				.array();
		}

		/** Returns the name in the first message of a slave, as a node receives it. */
		static String name(byte[] message) {
			int header = NODE_HEADER + 1;
			return new String(message, header, message.length - header, StandardCharsets.UTF_8);
		}

		/**
		 * The number and the protocol, which are 0, the length, the unit and the name.
		 */
		private byte[] registration() {
			byte[] bytes = this.name.getBytes(StandardCharsets.UTF_8);
			return ByteBuffer.allocate(HEADER + 1 + bytes.length)
				.putInt(0)
				.putShort((short) (2 + bytes.length))
				.put(UNIT)
				.put(REGISTER)
				.put(bytes)
				.array();
		}

		@Override
		void live() throws IOException {
			InetAddress loopback = InetAddress.getLoopbackAddress();
			try (ServerSocket slave = new ServerSocket(0, 1, loopback)) {
				Process gateway = new ProcessBuilder(SOCAT.toString(),
						"TCP:127.0.0.1:%d,connect-timeout=%d".formatted(this.site.port(true), CONNECT_MILLIS / 1_000),
						"TCP:127.0.0.1:" + slave.getLocalPort())
					.redirectErrorStream(true)
					.redirectOutput(ProcessBuilder.Redirect.DISCARD)
					.start();
				try (Socket connection = accept(slave, gateway)) {
					connection.getOutputStream().write(registration());
					DataInputStream input = new DataInputStream(connection.getInputStream());
					serve(connection, () -> execute(connection, input));
				}
				finally {
					gateway.destroyForcibly();
				}
			}
		}

		private static Socket accept(ServerSocket slave, Process gateway) throws IOException {
			slave.setSoTimeout(ACCEPT_MILLIS);
			while (true) {
				try {
					return slave.accept();
				}
				catch (SocketTimeoutException ex) {
					if (!gateway.isAlive()) {
						throw ex;
					}
				}
			}
		}

		private boolean execute(Socket connection, DataInputStream input) throws IOException {
			byte[] header = new byte[HEADER];
			input.readFully(header);
			byte[] body = new byte[ByteBuffer.wrap(header).getShort(4) - 1];
			input.readFully(body);
			if (body[0] == REGISTER) {
				this.welcome = true;
				return true;
			}
			this.site.executed("c" + ByteBuffer.wrap(body).getInt(1));
			byte[] reply = ByteBuffer.allocate(HEADER + body.length).put(header).put(body).array();
			connection.getOutputStream().write(reply);
			return true;
		}

	}

}
