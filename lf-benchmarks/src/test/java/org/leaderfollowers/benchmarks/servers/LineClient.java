package org.leaderfollowers.benchmarks.servers;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A client that sends bytes as it is told, and waits for lines with a deadline.
 */
final class LineClient implements AutoCloseable {

	private static final int TIMEOUT_MILLIS = 20_000;

	private final Socket socket;

	private final InputStream input;

	LineClient(EchoServer server) throws IOException {
		this(server.port());
	}

	LineClient(int port) throws IOException {
		this.socket = new Socket(InetAddress.getLoopbackAddress(), port);
		this.socket.setSoTimeout(TIMEOUT_MILLIS);
		this.socket.setTcpNoDelay(true);
		this.input = new BufferedInputStream(this.socket.getInputStream(), 64 * 1024);
	}

	void send(String bytes) throws IOException {
		this.socket.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
	}

	/** Waits for a line, and returns it without its line feed. */
	String receive() throws IOException {
		ByteArrayOutputStream line = new ByteArrayOutputStream();
		for (int next = this.input.read(); next != '\n'; next = this.input.read()) {
			if (next < 0) {
				throw new IOException("closed after '" + line + "'");
			}
			line.write(next);
		}
		return line.toString(StandardCharsets.ISO_8859_1);
	}

	List<String> receive(int lines) throws IOException {
		List<String> received = new ArrayList<>();
		for (int i = 0; i < lines; i++) {
			received.add(receive());
		}
		return received;
	}

	/** Waits for the end of the connection. */
	boolean isClosedByServer() throws IOException {
		try {
			return this.input.read() < 0;
		}
		catch (SocketTimeoutException ex) {
			return false;
		}
		catch (IOException ex) {
			// Reset, because the server has not read everything.
			return true;
		}
	}

	@Override
	public void close() throws IOException {
		this.socket.close();
	}

}
