package org.leaderfollowers.spring.autoconfigure;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.ClientAuth;
import org.leaderfollowers.ClientTls;
import org.leaderfollowers.ServerTls;

import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;

/**
 * What an SSL bundle means for a server.
 *
 * @param bundle the name of the bundle
 * @param clientAuth whether clients have to show a certificate
 */
record BundleTls(String bundle, ClientAuth clientAuth) {

	private static final Log logger = LogFactory.getLog(BundleTls.class);

	/**
	 * Makes the TLS of a server out of the bundle.
	 * @param content the bundle as it is now
	 * @return the TLS of a server
	 * @throws IllegalArgumentException if the bundle is of no use to a server, with a
	 * sentence that says why
	 */
	public ServerTls create(SslBundle content) {
		String problem;
		try {
			problem = KeyPossession.problem(content);
			if (problem == null) {
				return withOptions(ServerTls.of(content.createSslContext()).clientAuth(this.clientAuth),
						content.getOptions());
			}
		}
		catch (RuntimeException ex) {
			throw unusable(this.bundle, ex);
		}
		throw new IllegalArgumentException("The SSL bundle '%s' cannot be used: %s".formatted(this.bundle, problem));
	}

	/**
	 * Makes the TLS of a client out of a bundle, which needs no key of its own.
	 * @param bundle the name of the bundle
	 * @param content the bundle as it is now
	 * @param verifyHostname whether the certificate must be for the name of the server
	 * @return the TLS of a client
	 * @throws IllegalArgumentException if the bundle is of no use to a client, with a
	 * sentence that says why
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

	/**
	 * Not part of {@link #create}, which is called to check a bundle as well.
	 */
	void warnOfUnlimitedTrust(SslBundle content) {
		if (this.clientAuth != ClientAuth.NONE && content.getStores().getKeyStore() != null
				&& content.getStores().getTrustStore() == null) {
			logger.warn("Clients are asked for certificates, but the SSL bundle '%s' has no trust store: "
				.formatted(this.bundle) + "those of every authority that the JDK trusts will be accepted");
		}
	}

	/**
	 * The innermost message says what was wrong with a file.
	 */
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
