package org.leaderfollowers.spring.autoconfigure;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.ClientAuth;
import org.leaderfollowers.ClientTls;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Ssl;

import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;

/**
 * Converts SSL bundles to TLS configurations.
 *
 * @param bundle the name of the bundle
 * @param ssl the properties of the server
 */
record BundleTls(String bundle, Ssl ssl) {

	private static final Log logger = LogFactory.getLog(BundleTls.class);

	/**
	 * Creates the TLS configuration of a server from the bundle.
	 * @param content the current content of the bundle
	 * @return the TLS configuration of a server
	 * @throws IllegalArgumentException if a server cannot use the bundle, with a sentence
	 * that says why
	 */
	public ServerTls create(SslBundle content) {
		String problem;
		try {
			problem = KeyPossession.problem(content);
			if (problem == null) {
				return withOptions(
						withLimits(ServerTls.of(content.createSslContext()).clientAuth(this.ssl.clientAuth())),
						content.getOptions());
			}
		}
		catch (RuntimeException ex) {
			throw unusable(this.bundle, ex);
		}
		throw new IllegalArgumentException("The SSL bundle '%s' cannot be used: %s".formatted(this.bundle, problem));
	}

	/**
	 * Creates the TLS configuration of a client from a bundle, which may have no key.
	 * @param bundle the name of the bundle
	 * @param content the current content of the bundle
	 * @param verifyHostname whether the certificate must be for the name of the server
	 * @return the TLS configuration of a client
	 * @throws IllegalArgumentException if a client cannot use the bundle, with a sentence
	 * that says why
	 */
	static ClientTls createForClient(String bundle, SslBundle content, boolean verifyHostname) {
		try {
			ClientTls tls = ClientTls.of(content.createSslContext()).verifyHostname(verifyHostname);
			String[] protocols = content.getOptions().getEnabledProtocols();
			tls = (protocols != null) ? tls.protocols(protocols) : tls;
			String[] ciphers = content.getOptions().getCiphers();
			return (ciphers != null) ? tls.cipherSuites(ciphers) : tls;
		}
		catch (RuntimeException ex) {
			throw unusable(bundle, ex);
		}
	}

	private static IllegalArgumentException unusable(String bundle, RuntimeException cause) {
		return new IllegalArgumentException("The SSL bundle '%s' cannot be used: %s".formatted(bundle, reason(cause)),
				cause);
	}

	private ServerTls withLimits(ServerTls tls) {
		ServerTls limited = tls.maxHandshakes(this.ssl.maxHandshakes());
		Integer rate = this.ssl.maxHandshakeRate();
		return (rate != null) ? limited.maxHandshakeRate(rate) : limited;
	}

	private static ServerTls withOptions(ServerTls tls, SslOptions options) {
		ServerTls result = tls;
		String[] protocols = options.getEnabledProtocols();
		if (protocols != null) {
			result = result.protocols(protocols);
		}
		String[] ciphers = options.getCiphers();
		if (ciphers != null) {
			result = result.cipherSuites(ciphers);
		}
		return result;
	}

	/** Separate from {@link #create}, which is also called to check a bundle. */
	void warnOfUnlimitedTrust(SslBundle content) {
		if (this.ssl.clientAuth() != ClientAuth.NONE && content.getStores().getKeyStore() != null
				&& content.getStores().getTrustStore() == null) {
			logger.warn("Clients are asked for certificates, but the SSL bundle '%s' has no trust store: "
				.formatted(this.bundle) + "those of every authority that the JDK trusts will be accepted");
		}
	}

	/** The innermost exception says what is wrong with a file. */
	private static String reason(Throwable failure) {
		Throwable root = failure;
		while (root.getCause() != null) {
			root = root.getCause();
		}
		String innermost = (root.getMessage() != null) ? root.getMessage() : root.toString();
		String outermost = failure.getMessage();
		if (outermost == null) {
			return innermost;
		}
		return outermost.contains(innermost) ? outermost : "%s (%s)".formatted(outermost, innermost);
	}

}
