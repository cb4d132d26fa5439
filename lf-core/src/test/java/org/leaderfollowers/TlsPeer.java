package org.leaderfollowers;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;

import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;

/**
 * A client that speaks TLS, with a blocking socket of the JDK.
 */
public final class TlsPeer implements Closeable {

	private final SSLSocket socket;

	public TlsPeer(SSLContext context, int port, String... protocols) {
		this(context, port, 0, null, protocols);
	}

	public TlsPeer(SSLContext context, int port, int receiveBuffer, String serverName, String... protocols) {
		this(context, new Socket(), port, receiveBuffer, serverName, protocols);
	}

	public TlsPeer(SSLContext context, Socket plain, int port, int receiveBuffer, String serverName,
			String... protocols) {
		try {
			// Otherwise each handshake would wait for a delayed acknowledgement.
			plain.setTcpNoDelay(true);
			if (receiveBuffer > 0) {
				plain.setReceiveBufferSize(receiveBuffer);
			}
			plain.connect(new java.net.InetSocketAddress(InetAddress.getLoopbackAddress(), port));
			plain.setSoTimeout((int) Engine.DEADLINE.toMillis());
			this.socket = (SSLSocket) context.getSocketFactory().createSocket(plain, "localhost", port, true);
			if (protocols.length > 0) {
				this.socket.setEnabledProtocols(protocols);
			}
			if (serverName != null) {
				SSLParameters parameters = this.socket.getSSLParameters();
				parameters.setServerNames(List.of(new SNIHostName(serverName)));
				this.socket.setSSLParameters(parameters);
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	public TlsPeer shakeHands() throws IOException {
		this.socket.startHandshake();
		return this;
	}

	public SSLSession session() {
		return this.socket.getSession();
	}

	public TlsPeer send(String text) {
		return send(text.getBytes(StandardCharsets.ISO_8859_1));
	}

	public TlsPeer send(byte[] bytes) {
		try {
			this.socket.getOutputStream().write(bytes);
			return this;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	public byte[] read(int count) {
		try {
			byte[] bytes = this.socket.getInputStream().readNBytes(count);
			if (bytes.length < count) {
				throw new EOFException("after %d of %d bytes".formatted(bytes.length, count));
			}
			return bytes;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Returns the next line without its end, or {@code null} if the server has sent
	 * close_notify.
	 */
	public String readLine() {
		try {
			ByteArrayOutputStream line = new ByteArrayOutputStream();
			for (int b = this.socket.getInputStream().read(); b != '\n'; b = this.socket.getInputStream().read()) {
				if (b < 0) {
					return (line.size() == 0) ? null : line + " (torn)";
				}
				line.write(b);
			}
			return line.toString(StandardCharsets.ISO_8859_1);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	public TlsPeer shutdownOutput() {
		try {
			this.socket.shutdownOutput();
			return this;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void close() {
		try {
			this.socket.close();
		}
		catch (IOException ex) {
			// it is closed
		}
	}

}
