package org.leaderfollowers.spring;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;

/** Sends and receives lines over a socket. */
public class LineClient implements Closeable {

	private final Socket socket;

	private final BufferedReader reader;

	public LineClient(int port) throws IOException {
		this.socket = new Socket(InetAddress.getLoopbackAddress(), port);
		this.socket.setSoTimeout(60_000);
		this.reader = new BufferedReader(new InputStreamReader(this.socket.getInputStream(), StandardCharsets.UTF_8));
	}

	public String ask(String line) throws IOException {
		send(line);
		String answer = read();
		return (answer != null) ? answer : "<closed>";
	}

	public void send(String line) throws IOException {
		this.socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
	}

	/**
	 * Reads a line.
	 * @return the line, or {@code null} at the end of the connection
	 */
	public @Nullable String read() throws IOException {
		return this.reader.readLine();
	}

	@Override
	public void close() throws IOException {
		this.socket.close();
	}

}
