package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

import org.jspecify.annotations.Nullable;

/**
 * The TLS configuration of a {@link TcpClient}: trust, keys, protocols and cipher suites.
 * Immutable; each method returns a changed copy.
 * <p>
 * The client verifies the name of the server against its certificate, unless this is
 * {@linkplain #verifyHostname switched off}, and sends the name to the server (SNI).
 */
public final class ClientTls {

	private final SSLContext context;

	private final boolean verifiesHostname;

	private final @Nullable List<String> protocols;

	private final @Nullable List<String> cipherSuites;

	private ClientTls(SSLContext context, boolean verifiesHostname, @Nullable List<String> protocols,
			@Nullable List<String> cipherSuites) {
		this.context = context;
		this.verifiesHostname = verifiesHostname;
		this.protocols = protocols;
		this.cipherSuites = cipherSuites;
	}

	/**
	 * TLS with the trust and the keys of a context, and the protocols and cipher suites
	 * that it enables.
	 * @param context initialised
	 * @return the configuration
	 * @throws IllegalArgumentException if the context is not initialised
	 */
	public static ClientTls of(SSLContext context) {
		ServerTls.requireInitialised(context);
		return new ClientTls(context, true, null, null);
	}

	/**
	 * Whether the certificate of the server must be for the name or the address that the
	 * client connects to.
	 * @param verifyHostname the default is {@code true}; if {@code false}, every server
	 * whose certificate is trusted can pretend to be any other
	 * @return a copy with this value
	 */
	public ClientTls verifyHostname(boolean verifyHostname) {
		return new ClientTls(this.context, verifyHostname, this.protocols, this.cipherSuites);
	}

	/**
	 * The versions of TLS that may be used.
	 * @param protocols names of the JDK, for example {@code TLSv1.3}; the default are
	 * those that the context enables
	 * @return a copy with these values
	 * @throws IllegalArgumentException if there is none, or one that is not supported
	 */
	public ClientTls protocols(String... protocols) {
		return new ClientTls(this.context, this.verifiesHostname,
				ServerTls.supported("protocols", protocols, this.context.getSupportedSSLParameters().getProtocols()),
				this.cipherSuites);
	}

	/**
	 * The cipher suites that may be used.
	 * @param cipherSuites names of the JDK, the preferred one first; the default are
	 * those that the context enables
	 * @return a copy with these values
	 * @throws IllegalArgumentException if there is none, or one that is not supported
	 */
	public ClientTls cipherSuites(String... cipherSuites) {
		return new ClientTls(this.context, this.verifiesHostname, this.protocols, ServerTls.supported("cipherSuites",
				cipherSuites, this.context.getSupportedSSLParameters().getCipherSuites()));
	}

	/** Creates the engine of one connection. */
	SSLEngine newEngine(InetSocketAddress peer) {
		Objects.requireNonNull(peer, "'peer' must not be null");
		SSLEngine engine = this.context.createSSLEngine(peer.getHostString(), peer.getPort());
		engine.setUseClientMode(true);
		SSLParameters parameters = engine.getSSLParameters();
		if (this.protocols != null) {
			parameters.setProtocols(this.protocols.toArray(String[]::new));
		}
		if (this.cipherSuites != null) {
			parameters.setCipherSuites(this.cipherSuites.toArray(String[]::new));
		}
		if (this.verifiesHostname) {
			// Most other protocols use the rules of HTTPS (RFC 2818) as well.
			parameters.setEndpointIdentificationAlgorithm("HTTPS");
		}
		engine.setSSLParameters(parameters);
		return engine;
	}

	@Override
	public String toString() {
		return "TLS (host name %s, protocols %s, cipher suites %s)".formatted(
				this.verifiesHostname ? "verified" : "not verified",
				(this.protocols != null) ? this.protocols : "of the context",
				(this.cipherSuites != null) ? this.cipherSuites : "of the context");
	}

}
