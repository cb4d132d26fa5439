package org.leaderfollowers.benchmarks.attack;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.Base64;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

import org.jspecify.annotations.Nullable;

/**
 * A key store with a key of its own and a self-signed certificate for it.
 *
 * @param file the key store, of type PKCS12
 */
public record Certificate(Path file) {

	/** Of the key store and of the key. */
	public static final String PASSWORD = "loopback";

	private static final String ALIAS = "server";

	/**
	 * Creates a certificate.
	 * @param file the key store, which does not exist yet
	 * @return the certificate
	 * @throws IOException if it cannot be created
	 */
	public static Certificate create(Path file) throws IOException {
		Process keytool = new ProcessBuilder(System.getProperty("java.home") + "/bin/keytool", "-genkeypair", "-alias",
				ALIAS, "-keyalg", "EC", "-dname", "CN=localhost", "-ext", "SAN=dns:localhost,ip:127.0.0.1", "-validity",
				"30", "-storetype", "PKCS12", "-storepass", PASSWORD, "-keystore", file.toString())
			.redirectErrorStream(true)
			.start();
		String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		try {
			if (keytool.waitFor() != 0) {
				throw new IOException("keytool failed: " + output);
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IOException("Interrupted", ex);
		}
		return new Certificate(file);
	}

	/**
	 * The context of a server.
	 * @return a context with the key
	 * @throws IOException if the key store cannot be read
	 */
	public SSLContext serverContext() throws IOException {
		try {
			return context(keyManagers(), null);
		}
		catch (GeneralSecurityException ex) {
			throw new IOException("The key store cannot be used", ex);
		}
	}

	/**
	 * The keys of a server.
	 * @return initialised
	 * @throws IOException if the key store cannot be read
	 */
	public KeyManagerFactory keyManagers() throws IOException {
		try {
			KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
			keys.init(keyStore(), PASSWORD.toCharArray());
			return keys;
		}
		catch (GeneralSecurityException ex) {
			throw new IOException("The key store cannot be used", ex);
		}
	}

	private KeyStore keyStore() throws IOException, GeneralSecurityException {
		KeyStore store = KeyStore.getInstance("PKCS12");
		try (InputStream in = Files.newInputStream(this.file)) {
			store.load(in, PASSWORD.toCharArray());
		}
		return store;
	}

	/**
	 * Writes the certificate and the key beside each other in one file, for servers that
	 * do not read key stores.
	 * @param pem the file
	 * @throws IOException if the file cannot be written
	 */
	public void writePem(Path pem) throws IOException {
		try {
			KeyStore store = keyStore();
			Files.writeString(pem, block("CERTIFICATE", store.getCertificate(ALIAS).getEncoded())
					+ block("PRIVATE KEY", store.getKey(ALIAS, PASSWORD.toCharArray()).getEncoded()));
		}
		catch (GeneralSecurityException ex) {
			throw new IOException("The key store cannot be used", ex);
		}
	}

	private static String block(String type, byte[] content) {
		return "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(type,
				Base64.getMimeEncoder(64, new byte[] { '\n' }).encodeToString(content), type);
	}

	/**
	 * The context of a client that trusts every certificate: attacks are about resources,
	 * and never leave the loopback interface.
	 * @return a context
	 */
	public static SSLContext trustAll() {
		try {
			return context(null, new TrustManager[] { new TrustAll() });
		}
		catch (GeneralSecurityException ex) {
			throw new IllegalStateException("Every JDK has TLS", ex);
		}
	}

	private static SSLContext context(@Nullable KeyManagerFactory keys, TrustManager @Nullable [] trust)
			throws GeneralSecurityException {
		SSLContext context = SSLContext.getInstance("TLS");
		context.init((keys != null) ? keys.getKeyManagers() : null, trust, null);
		return context;
	}

	private static final class TrustAll implements X509TrustManager {

		@Override
		public void checkClientTrusted(X509Certificate[] chain, String authType) {
		}

		@Override
		public void checkServerTrusted(X509Certificate[] chain, String authType) {
		}

		@Override
		public X509Certificate[] getAcceptedIssuers() {
			return new X509Certificate[0];
		}

	}

}
