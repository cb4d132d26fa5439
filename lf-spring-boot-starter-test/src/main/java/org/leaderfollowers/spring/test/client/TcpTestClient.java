package org.leaderfollowers.spring.test.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Framing;

import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;

/**
 * A client of a TCP server, with or without TLS: a plain blocking socket with deadlines.
 *
 * <pre>
 * TcpTestClient client = LfTestClient.tcp(port).framing(Framing.lengthField(2)).tls(sslBundle).connect();
 * </pre>
 */
public final class TcpTestClient extends LfTestClient {

	private static final Duration SILENCE = Duration.ofMillis(200);

	private static final int CHUNK = 16 * 1024;

	private final Framing framing;

	/** The socket below TLS. Closing it ends all blocked operations. */
	private final Socket transport;

	private final Socket socket;

	private final FrameReader reader;

	private final byte[] chunk = new byte[CHUNK];

	private final Object reading = new Object();

	private final Object writing = new Object();

	/** Why nothing more will be read, or {@code null} while this is unknown. */
	private @Nullable End end;

	/** The end of the input. */
	private record End(String detail, @Nullable IOException cause) {
	}

	private TcpTestClient(Builder builder, Socket transport, Socket socket) {
		super(builder.charset, builder.timeout);
		this.framing = builder.framing;
		this.transport = transport;
		this.socket = socket;
		this.reader = new FrameReader(builder.framing, builder.maxMessageSize);
	}

	/**
	 * Sends bytes without framing, for example half a message or an invalid one.
	 * @param bytes the bytes
	 * @throws AssertionError if the server does not accept them
	 */
	public void sendRaw(byte... bytes) {
		synchronized (this.writing) {
			Watchdog watchdog = Watchdog.after(timeout(), () -> closeQuietly(this.transport));
			try (watchdog) {
				this.socket.getOutputStream().write(bytes);
				this.socket.getOutputStream().flush();
			}
			catch (IOException ex) {
				throw new AssertionError(watchdog.hasBitten()
						? "%s could not send %d bytes within %s: the server does not read".formatted(this, bytes.length,
								seconds(timeout()))
						: "%s could not send %d bytes: %s".formatted(this, bytes.length, ex), ex);
			}
		}
	}

	/**
	 * Sends text without framing.
	 * @param text the text
	 * @throws AssertionError if the server does not accept it
	 */
	public void sendRaw(String text) {
		sendRaw(text.getBytes(charset()));
	}

	/**
	 * Waits for bytes, without decoding messages.
	 * @param count how many bytes
	 * @return the bytes
	 * @throws AssertionError if they do not arrive within the timeout
	 */
	public byte[] receiveRaw(int count) {
		synchronized (this.reading) {
			long deadline = System.nanoTime() + timeout().toNanos();
			while (this.reader.available() < count) {
				Reception interrupted = readMore(deadline);
				if (interrupted != null) {
					throw failure("%s expected %d bytes within %s, but %s".formatted(this, count, seconds(timeout()),
							interrupted.describe(charset())), interrupted);
				}
			}
			return this.reader.take(count);
		}
	}

	/** Ends the output of the client, which still receives: a half-close. */
	public void shutdownOutput() {
		synchronized (this.writing) {
			try (Watchdog watchdog = Watchdog.after(timeout(), () -> closeQuietly(this.transport))) {
				this.socket.shutdownOutput();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(this + " could not shut down its output", ex);
			}
		}
	}

	/**
	 * Resets the connection, as when the client's process or machine crashes: the server
	 * receives a reset instead of the end of the input.
	 */
	public void reset() {
		try {
			this.transport.setSoLinger(true, 0);
		}
		catch (IOException ex) {
			// The socket is closed already.
		}
		closeQuietly(this.transport);
	}

	/**
	 * The address of this client, which is the remote address that a handler sees.
	 * @return address and port
	 */
	public InetSocketAddress localAddress() {
		return (InetSocketAddress) this.transport.getLocalSocketAddress();
	}

	/**
	 * The result of the TLS negotiation: protocol, cipher suite, and the certificates of
	 * the server.
	 * @return the session
	 * @throws IllegalStateException if the connection does not use TLS
	 */
	public SSLSession sslSession() {
		if (this.socket instanceof SSLSocket tls) {
			return tls.getSession();
		}
		throw new IllegalStateException("%s has no TLS: build it with 'tls'".formatted(this));
	}

	@Override
	void transmit(List<byte[]> payloads) {
		sendRaw(encode(this.framing, payloads));
	}

	static byte[] encode(Framing framing, List<byte[]> payloads) {
		int bound = 0;
		for (byte[] payload : payloads) {
			bound = Math.addExact(bound, framing.maxFrameLength(payload.length));
		}
		ByteBuffer frames = ByteBuffer.allocate(bound);
		for (byte[] payload : payloads) {
			framing.encode(ByteBuffer.wrap(payload), frames);
		}
		return Arrays.copyOf(frames.array(), frames.position());
	}

	@Override
	Reception take(Duration within) {
		synchronized (this.reading) {
			long deadline = System.nanoTime() + within.toNanos();
			for (;;) {
				try {
					byte[] message = this.reader.next();
					if (message != null) {
						return Reception.message(message);
					}
				}
				catch (RuntimeException ex) {
					return Reception.malformed(this.reader.peek(), ex);
				}
				Reception interrupted = readMore(deadline);
				if (interrupted != null) {
					return interrupted;
				}
			}
		}
	}

	/**
	 * Reads at least once, until the deadline at the latest.
	 * @return why nothing was read, or {@code null} if bytes were read
	 */
	private @Nullable Reception readMore(long deadline) {
		if (this.end == null) {
			try {
				long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
				this.socket.setSoTimeout((int) Math.max(1, Math.min(left, Integer.MAX_VALUE)));
				int count = this.socket.getInputStream().read(this.chunk);
				if (count >= 0) {
					this.reader.append(this.chunk, 0, count);
					return null;
				}
				this.end = new End("", null);
			}
			catch (SocketTimeoutException ex) {
				return Reception.silence(this.reader.peek());
			}
			catch (IOException ex) {
				this.end = this.transport.isClosed() ? new End(", or this client was closed by the test", ex)
						: new End("", ex);
			}
		}
		return Reception.closed(this.reader.peek(), this.end.detail(), this.end.cause());
	}

	@Override
	Duration silence() {
		return SILENCE;
	}

	@Override
	public void close() {
		try (Watchdog watchdog = Watchdog.after(timeout(), () -> closeQuietly(this.transport))) {
			closeQuietly(this.socket);
			closeQuietly(this.transport);
		}
	}

	private static void closeQuietly(Socket socket) {
		try {
			socket.close();
		}
		catch (IOException ex) {
			// Ignored, because the connection is closed anyway.
		}
	}

	@Override
	public String toString() {
		return "%s client of port %d".formatted((this.socket instanceof SSLSocket) ? "TLS" : "TCP",
				this.transport.getPort());
	}

	/**
	 * Builds a client of a TCP server.
	 */
	public static final class Builder {

		private final int port;

		private InetAddress address = InetAddress.getLoopbackAddress();

		private Framing framing = Framing.line();

		private Charset charset = StandardCharsets.UTF_8;

		private Duration timeout = Duration.ofSeconds(10);

		private int maxMessageSize = 16 * 1024 * 1024;

		private int receiveBufferSize;

		private byte[] preface = {};

		private @Nullable SSLContext sslContext;

		private String @Nullable [] protocols;

		private String @Nullable [] cipherSuites;

		private @Nullable String serverName;

		Builder(int port) {
			if (port < 1 || port > 65535) {
				throw new IllegalArgumentException(
						"'port' must be from 1 to 65535, but is %d: ask a started server for its port".formatted(port));
			}
			this.port = port;
		}

		/**
		 * The address of the server.
		 * @param address the default is the loopback address
		 * @return this builder
		 */
		public Builder address(InetAddress address) {
			this.address = Objects.requireNonNull(address, "'address' must not be null");
			return this;
		}

		/**
		 * The framing in both directions.
		 * @param framing the default is {@link Framing#line()}
		 * @return this builder
		 */
		public Builder framing(Framing framing) {
			this.framing = Objects.requireNonNull(framing, "'framing' must not be null");
			return this;
		}

		/**
		 * The charset of text messages.
		 * @param charset the default is UTF-8
		 * @return this builder
		 */
		public Builder charset(Charset charset) {
			this.charset = Objects.requireNonNull(charset, "'charset' must not be null");
			return this;
		}

		/**
		 * The timeout of each operation: connecting, sending, waiting for a message.
		 * @param timeout more than 0; the default is 10 seconds
		 * @return this builder
		 */
		public Builder timeout(Duration timeout) {
			this.timeout = positive("timeout", timeout);
			return this;
		}

		/**
		 * The maximum size of a received message.
		 * @param maxMessageSize bytes of payload, at least 1; the default is 16 MiB
		 * @return this builder
		 */
		public Builder maxMessageSize(int maxMessageSize) {
			if (maxMessageSize < 1) {
				throw new IllegalArgumentException(
						"'maxMessageSize' must be at least 1, but is %d".formatted(maxMessageSize));
			}
			this.maxMessageSize = maxMessageSize;
			return this;
		}

		/**
		 * The receive buffer of the system, for a client that reads more slowly than the
		 * server sends.
		 * @param receiveBufferSize bytes, more than 0; the default is that of the system
		 * @return this builder
		 */
		public Builder receiveBufferSize(int receiveBufferSize) {
			if (receiveBufferSize < 1) {
				throw new IllegalArgumentException(
						"'receiveBufferSize' must be at least 1, but is %d".formatted(receiveBufferSize));
			}
			this.receiveBufferSize = receiveBufferSize;
			return this;
		}

		/**
		 * Bytes that a load balancer would send before all others, even before TLS: for
		 * example the header of the PROXY protocol.
		 * @param preface the bytes, without framing; the default is none
		 * @return this builder
		 */
		public Builder preface(byte... preface) {
			this.preface = preface.clone();
			return this;
		}

		/**
		 * Uses TLS, and accepts every certificate of the server, because a test server
		 * seldom has a trusted one.
		 * @return this builder
		 */
		public Builder tls() {
			return tls(TrustAnyCertificate.sslContext());
		}

		/**
		 * Uses TLS.
		 * @param sslContext provides the trusted certificates, and the certificate of the
		 * client if the server requests one. The name in the certificate of the server is
		 * not verified
		 * @return this builder
		 */
		public Builder tls(SSLContext sslContext) {
			this.sslContext = Objects.requireNonNull(sslContext, "'sslContext' must not be null");
			return this;
		}

		/**
		 * Uses TLS.
		 * @param sslBundle provides the trusted certificates, protocols and cipher
		 * suites, and the certificate of the client if the server requests one. The name
		 * in the certificate of the server is not verified
		 * @return this builder
		 */
		public Builder tls(SslBundle sslBundle) {
			SslOptions options = sslBundle.getOptions();
			this.protocols = options.getEnabledProtocols();
			this.cipherSuites = options.getCiphers();
			return tls(sslBundle.createSslContext());
		}

		/**
		 * The versions of TLS that the client offers.
		 * @param protocols for example {@code TLSv1.2}; the default is those of the JDK,
		 * or of the bundle
		 * @return this builder
		 */
		public Builder protocols(String... protocols) {
			this.protocols = protocols.clone();
			return this;
		}

		/**
		 * The name of the server that the client sends by SNI, so that the server can
		 * choose its certificate.
		 * @param serverName a host name; the default is none
		 * @return this builder
		 */
		public Builder serverName(String serverName) {
			this.serverName = Objects.requireNonNull(serverName, "'serverName' must not be null");
			return this;
		}

		/**
		 * Connects to the server. If TLS is used, this includes the handshake. With TLS
		 * 1.3, a server that rejects the certificate of the client reports this only
		 * after the handshake.
		 * @return a connected client
		 * @throws UncheckedIOException if this fails or takes longer than the timeout
		 */
		public TcpTestClient connect() {
			Socket transport = new Socket();
			Watchdog watchdog = Watchdog.after(this.timeout, () -> closeQuietly(transport));
			try (watchdog) {
				if (this.receiveBufferSize > 0) {
					transport.setReceiveBufferSize(this.receiveBufferSize);
				}
				transport.connect(new InetSocketAddress(this.address, this.port), (int) this.timeout.toMillis());
				transport.setTcpNoDelay(true);
				transport.getOutputStream().write(this.preface);
				return new TcpTestClient(this, transport,
						(this.sslContext != null) ? handshake(this.sslContext, transport) : transport);
			}
			catch (IOException ex) {
				closeQuietly(transport);
				throw new UncheckedIOException("Could not connect to port %d%s: %s".formatted(this.port,
						watchdog.hasBitten() ? " within " + seconds(this.timeout) : "", ex.getMessage()), ex);
			}
		}

		private SSLSocket handshake(SSLContext context, Socket transport) throws IOException {
			SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(transport, null, this.port, true);
			SSLParameters parameters = socket.getSSLParameters();
			if (this.serverName != null) {
				parameters.setServerNames(List.of(new SNIHostName(this.serverName)));
			}
			if (this.protocols != null) {
				parameters.setProtocols(this.protocols);
			}
			if (this.cipherSuites != null) {
				parameters.setCipherSuites(this.cipherSuites);
			}
			socket.setSSLParameters(parameters);
			socket.startHandshake();
			return socket;
		}

	}

}
