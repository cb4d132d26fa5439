package org.leaderfollowers;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

import org.jspecify.annotations.Nullable;

/**
 * The TLS configuration of a {@link TcpServer}: keys, trust, protocols and cipher suites.
 * Immutable; each method returns a changed copy.
 *
 * <pre>
 * ServerTls tls = ServerTls.of(sslContext).clientAuth(ClientAuth.NEED).protocols("TLSv1.3");
 * TcpServer server = TcpServer.builder(pool).tls(tls). ...
 * </pre>
 *
 * Key managers and trust managers of the context may block, because a thread that leads
 * never calls them.
 *
 * @see TcpServer#tls(ServerTls)
 */
public final class ServerTls {

	private static final int DEFAULT_HANDSHAKES = 1000;

	/** About half of the full handshakes that a processor can do in a second. */
	private static final int DEFAULT_RATE = 500;

	private final SSLContext context;

	private final ClientAuth clientAuth;

	private final @Nullable List<String> protocols;

	private final @Nullable List<String> cipherSuites;

	private final int maxHandshakes;

	private final int maxHandshakeRate;

	private ServerTls(SSLContext context, ClientAuth clientAuth, @Nullable List<String> protocols,
			@Nullable List<String> cipherSuites, int maxHandshakes, int maxHandshakeRate) {
		this.context = context;
		this.clientAuth = clientAuth;
		this.protocols = protocols;
		this.cipherSuites = cipherSuites;
		this.maxHandshakes = maxHandshakes;
		this.maxHandshakeRate = maxHandshakeRate;
	}

	/**
	 * TLS with the keys and the trust of a context, the protocols and cipher suites that
	 * it enables, and no certificates of clients.
	 * @param context initialised
	 * @return the configuration
	 * @throws IllegalArgumentException if the context is not initialised
	 */
	public static ServerTls of(SSLContext context) {
		requireInitialised(context);
		return new ServerTls(context, ClientAuth.NONE, null, null, DEFAULT_HANDSHAKES,
				DEFAULT_RATE * Runtime.getRuntime().availableProcessors());
	}

	static void requireInitialised(SSLContext context) {
		Objects.requireNonNull(context, "'context' must not be null");
		try {
			context.createSSLEngine();
		}
		catch (IllegalStateException | UnsupportedOperationException ex) {
			throw new IllegalArgumentException(
					"The SSL context (%s) cannot be used: %s. Call its init(...) first, or use SSLContext.getDefault()"
						.formatted(context.getProtocol(), ex.getMessage()),
					ex);
		}
	}

	/**
	 * Whether clients have to send a certificate.
	 * @param clientAuth the default is {@link ClientAuth#NONE}
	 * @return a copy with this value
	 */
	public ServerTls clientAuth(ClientAuth clientAuth) {
		Objects.requireNonNull(clientAuth, "'clientAuth' must not be null");
		return new ServerTls(this.context, clientAuth, this.protocols, this.cipherSuites, this.maxHandshakes,
				this.maxHandshakeRate);
	}

	/**
	 * The versions of TLS that may be used.
	 * @param protocols names of the JDK, for example {@code TLSv1.3}; the default are
	 * those that the context enables
	 * @return a copy with these values
	 * @throws IllegalArgumentException if there is none, or one that is not supported
	 */
	public ServerTls protocols(String... protocols) {
		return new ServerTls(this.context, this.clientAuth,
				supported("protocols", protocols, this.context.getSupportedSSLParameters().getProtocols()),
				this.cipherSuites, this.maxHandshakes, this.maxHandshakeRate);
	}

	/**
	 * The cipher suites that may be used.
	 * @param cipherSuites names of the JDK, the preferred one first, for example
	 * {@code TLS_AES_256_GCM_SHA384}; the default are those that the context enables
	 * @return a copy with these values
	 * @throws IllegalArgumentException if there is none, or one that is not supported
	 */
	public ServerTls cipherSuites(String... cipherSuites) {
		return new ServerTls(this.context, this.clientAuth, this.protocols,
				supported("cipherSuites", cipherSuites, this.context.getSupportedSSLParameters().getCipherSuites()),
				this.maxHandshakes, this.maxHandshakeRate);
	}

	/**
	 * How many connections of the server may wait for the end of their handshake. While
	 * there are so many, the server accepts no others, which wait in the backlog of the
	 * system.
	 * @param maxHandshakes at least 1, or 0 for no limit; the default is 1000
	 * @return a copy with this value
	 */
	public ServerTls maxHandshakes(int maxHandshakes) {
		return new ServerTls(this.context, this.clientAuth, this.protocols, this.cipherSuites,
				Arguments.inRange("maxHandshakes", maxHandshakes, 0, Integer.MAX_VALUE), this.maxHandshakeRate);
	}

	/**
	 * How many handshakes of the server may begin in a second, because each of them costs
	 * much processor time. The server accepts further connections later; until then, they
	 * wait in the backlog of the system.
	 * @param maxHandshakeRate from 1 to 1000000, or 0 for no limit; the default is 500
	 * for each processor
	 * @return a copy with this value
	 */
	public ServerTls maxHandshakeRate(int maxHandshakeRate) {
		return new ServerTls(this.context, this.clientAuth, this.protocols, this.cipherSuites, this.maxHandshakes,
				Arguments.inRange("maxHandshakeRate", maxHandshakeRate, 0, 1_000_000));
	}

	int maxHandshakes() {
		return this.maxHandshakes;
	}

	int maxHandshakeRate() {
		return this.maxHandshakeRate;
	}

	static List<String> supported(String name, String[] wanted, String[] supported) {
		if (wanted.length == 0) {
			throw new IllegalArgumentException(
					"'%s' must not be empty: name at least one, or leave them to the SSL context".formatted(name));
		}
		List<String> known = Arrays.asList(supported);
		for (String one : wanted) {
			if (!known.contains(one)) {
				throw new IllegalArgumentException(
						"'%s' must be supported by the SSL context, but '%s' is not. These are: %s".formatted(name, one,
								String.join(", ", known)));
			}
		}
		return List.of(wanted);
	}

	/** Creates the engine of one connection. */
	SSLEngine newEngine() {
		SSLEngine engine = this.context.createSSLEngine();
		engine.setUseClientMode(false);
		if (this.protocols != null) {
			engine.setEnabledProtocols(this.protocols.toArray(String[]::new));
		}
		if (this.cipherSuites != null) {
			engine.setEnabledCipherSuites(this.cipherSuites.toArray(String[]::new));
		}
		// Each of the two setters resets the other.
		if (this.clientAuth == ClientAuth.NEED) {
			engine.setNeedClientAuth(true);
		}
		else {
			engine.setWantClientAuth(this.clientAuth == ClientAuth.WANT);
		}
		return engine;
	}

	@Override
	public String toString() {
		return "TLS (client authentication %s, protocols %s, cipher suites %s)".formatted(this.clientAuth,
				(this.protocols != null) ? this.protocols : "of the context",
				(this.cipherSuites != null) ? this.cipherSuites : "of the context");
	}

}
