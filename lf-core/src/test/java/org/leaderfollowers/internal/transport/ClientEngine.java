package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;

/**
 * A TLS client without a socket: the test passes its bytes on. It turns text into bytes
 * and bytes into text, and sends nothing itself.
 */
public final class ClientEngine {

	private static final int LARGE = 128 * 1024;

	public final SSLEngine engine;

	private ByteBuffer received = ByteBuffer.allocate(2 * LARGE).limit(0);

	private final StringBuilder heard = new StringBuilder();

	public boolean closed;

	public ClientEngine(SSLContext context, String... protocols) {
		this.engine = context.createSSLEngine("localhost", 7070);
		this.engine.setUseClientMode(true);
		this.engine.setEnabledProtocols(protocols);
	}

	public void begin() throws SSLException {
		this.engine.beginHandshake();
	}

	/**
	 * Returns the bytes that the client sends without being told to, for example its next
	 * flight of the handshake.
	 */
	public byte[] speak() throws SSLException {
		ByteBuffer output = ByteBuffer.allocate(LARGE);
		for (;;) {
			runTasks();
			if (this.engine.getHandshakeStatus() != HandshakeStatus.NEED_WRAP) {
				return bytes(output);
			}
			int before = output.position();
			this.engine.wrap(ByteBuffer.allocate(0), output);
			if (output.position() == before && this.engine.isOutboundDone()) {
				return bytes(output);
			}
		}
	}

	public byte[] say(String text) throws SSLException {
		return say(text.getBytes(StandardCharsets.ISO_8859_1));
	}

	public byte[] say(byte[] text) throws SSLException {
		ByteBuffer plain = ByteBuffer.wrap(text);
		ByteBuffer output = ByteBuffer.allocate(text.length + LARGE);
		while (plain.hasRemaining()) {
			this.engine.wrap(plain, output);
		}
		return bytes(output);
	}

	/** Returns its close_notify. */
	public byte[] close() throws SSLException {
		this.engine.closeOutbound();
		ByteBuffer output = ByteBuffer.allocate(LARGE);
		this.engine.wrap(ByteBuffer.allocate(0), output);
		return bytes(output);
	}

	private static byte[] bytes(ByteBuffer output) {
		byte[] bytes = new byte[output.position()];
		output.flip().get(bytes);
		return bytes;
	}

	private void runTasks() {
		while (this.engine.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
			this.engine.getDelegatedTask().run();
		}
	}

	/**
	 * Reads the bytes that were sent to the client, as far as the records are complete.
	 */
	public void hear(ByteBuffer bytes) throws IOException {
		this.received.compact().put(bytes).flip();
		ByteBuffer plain = ByteBuffer.allocate(LARGE);
		while (this.received.hasRemaining() && !this.closed) {
			runTasks();
			if (this.engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP) {
				return;
			}
			SSLEngineResult result = this.engine.unwrap(this.received, plain.clear());
			this.heard.append(StandardCharsets.ISO_8859_1.decode(plain.flip()));
			this.closed = result.getStatus() == SSLEngineResult.Status.CLOSED;
			if (result.getStatus() == SSLEngineResult.Status.BUFFER_UNDERFLOW) {
				return;
			}
		}
		runTasks();
	}

	/** Returns all text that the client has read so far. */
	public String heard() {
		return this.heard.toString();
	}

	public boolean isHandshaking() {
		return this.engine.getHandshakeStatus() != HandshakeStatus.NOT_HANDSHAKING;
	}

}
