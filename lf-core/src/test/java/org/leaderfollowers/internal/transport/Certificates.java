package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;

import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;

/**
 * Keys and certificates, created when they are needed, so that none in the repository can
 * expire.
 */
public final class Certificates {

	private static final char[] PASSWORD = "secret".toCharArray();

	/** Issues all other certificates except {@link #STRANGER}. */
	public static final X509Bundle CA = authority("Test CA");

	public static final X509Bundle OTHER_CA = authority("Other CA");

	public static final X509Bundle SERVER = issue(CA, "localhost", Duration.ofDays(1));

	/** That of a server whose certificate has been renewed. */
	public static final X509Bundle RENEWED = issue(CA, "localhost", Duration.ofDays(2));

	public static final X509Bundle OTHER_SERVER = issue(CA, "other.test", Duration.ofDays(1));

	public static final X509Bundle CLIENT = issue(CA, "client", Duration.ofDays(1));

	public static final X509Bundle EXPIRED = issue(CA, "expired", Duration.ofDays(-1));

	/** A certificate of an authority that the server does not trust. */
	public static final X509Bundle STRANGER = issue(OTHER_CA, "stranger", Duration.ofDays(1));

	private Certificates() {
	}

	private static X509Bundle authority(String name) {
		try {
			return new CertificateBuilder().ecp256()
				.subject("CN=" + name)
				.setIsCertificateAuthority(true)
				.setKeyUsage(true, CertificateBuilder.KeyUsage.keyCertSign, CertificateBuilder.KeyUsage.cRLSign)
				.buildSelfSigned();
		}
		catch (Exception ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	public static X509Bundle issue(X509Bundle issuer, String name, Duration validity) {
		try {
			Instant now = Instant.now();
			return new CertificateBuilder().ecp256()
				.subject("CN=" + name)
				.addSanDnsName(name)
				.notBefore(now.minus(Duration.ofDays(3)))
				.notAfter(now.plus(validity))
				.addExtendedKeyUsageServerAuth()
				.addExtendedKeyUsageClientAuth()
				.buildIssuedBy(issuer);
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	/** Returns a context that trusts an authority, with or without keys of its own. */
	public static SSLContext context(X509Bundle own, X509Bundle trusted) {
		try {
			SSLContext context = SSLContext.getInstance("TLS");
			context.init((own != null) ? keyManagers(own) : null, trustManagers(trusted), null);
			return context;
		}
		catch (GeneralSecurityException ex) {
			throw new IllegalStateException(ex);
		}
	}

	public static SSLContext server() {
		return context(SERVER, CA);
	}

	public static SSLContext client() {
		return context(null, CA);
	}

	public static KeyManager[] keyManagers(X509Bundle... own) throws GeneralSecurityException {
		KeyStore keys = emptyStore();
		for (X509Bundle bundle : own) {
			keys.setKeyEntry("key" + keys.size(), bundle.getKeyPair().getPrivate(), PASSWORD,
					bundle.getCertificatePath());
		}
		KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
		factory.init(keys, PASSWORD);
		return factory.getKeyManagers();
	}

	/** Returns the context of a client that trusts an authority of another process. */
	public static SSLContext trusting(X509Certificate authority) {
		try {
			SSLContext context = SSLContext.getInstance("TLS");
			context.init(null, trustManagers(authority), null);
			return context;
		}
		catch (GeneralSecurityException ex) {
			throw new IllegalStateException(ex);
		}
	}

	public static TrustManager[] trustManagers(X509Bundle trusted) throws GeneralSecurityException {
		return trustManagers(trusted.getRootCertificate());
	}

	private static TrustManager[] trustManagers(X509Certificate authority) throws GeneralSecurityException {
		KeyStore store = emptyStore();
		store.setCertificateEntry("ca", authority);
		TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
		factory.init(store);
		return factory.getTrustManagers();
	}

	private static KeyStore emptyStore() throws GeneralSecurityException {
		try {
			KeyStore store = KeyStore.getInstance("PKCS12");
			store.load(null, null);
			return store;
		}
		catch (IOException ex) {
			throw new GeneralSecurityException(ex);
		}
	}

	public static X509Certificate of(X509Bundle bundle) {
		return bundle.getCertificate();
	}

	/** Writes a certificate, its chain and its key to files for a program. */
	public static Path write(X509Bundle bundle, Path directory, String name) throws IOException {
		Path file = directory.resolve(name + ".pem");
		Files.writeString(file, bundle.getCertificatePathPEM() + "\n" + bundle.getPrivateKeyPEM());
		return file;
	}

}
