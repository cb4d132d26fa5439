package org.leaderfollowers.sample;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;

/**
 * A client as anyone could write it: a socket with timeouts.
 */
final class OltpClient implements Closeable {

	private static final int TIMEOUT = 30_000;

	private final Socket socket;

	private final BufferedReader input;

	OltpClient(int port) throws IOException {
		this.socket = new Socket();
		try {
			this.socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), TIMEOUT);
			this.socket.setSoTimeout(TIMEOUT);
			this.socket.setTcpNoDelay(true);
			this.input = new BufferedReader(
					new InputStreamReader(this.socket.getInputStream(), StandardCharsets.UTF_8));
		}
		catch (IOException ex) {
			this.socket.close();
			throw ex;
		}
	}

	static String request(long account, long teller, long branch, long delta) {
		return "{\"account\":%d,\"teller\":%d,\"branch\":%d,\"delta\":%d}".formatted(account, teller, branch, delta);
	}

	static String committed(long account, long balance, long transaction) {
		return "{\"status\":\"COMMITTED\",\"account\":%d,\"balance\":%d,\"transaction\":%d}".formatted(account, balance,
				transaction);
	}

	static String rejected(String reason) {
		return "{\"status\":\"REJECTED\",\"reason\":\"%s\"}".formatted(reason);
	}

	static String invalid(String reason) {
		return "{\"status\":\"INVALID\",\"reason\":\"%s\"}".formatted(reason);
	}

	/** Sends lines, all at once. */
	void send(String... lines) throws IOException {
		send((String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8));
	}

	void send(byte[] bytes) throws IOException {
		this.socket.getOutputStream().write(bytes);
	}

	/** Receives a line, or {@code null} when the server has closed the connection. */
	@Nullable String receive() throws IOException {
		return this.input.readLine();
	}

	@Nullable String ask(String line) throws IOException {
		send(line);
		return receive();
	}

	@Override
	public void close() throws IOException {
		this.socket.close();
	}

}
