package org.leaderfollowers.spring.autoconfigure;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

import org.jspecify.annotations.Nullable;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A self-signed certificate for localhost and its key, made by the keytool of the JDK.
 *
 * @param key the private key
 * @param certificate the certificate
 */
record TestCertificate(PrivateKey key, Certificate certificate) {

	private static final char[] PASSWORD = "changeit".toCharArray();

	static TestCertificate create(Path directory, String name)
			throws IOException, GeneralSecurityException, InterruptedException {
		Path store = directory.resolve(name + ".p12");
		Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
				"-genkeypair", "-alias", "key", "-keyalg", "EC", "-dname", "CN=" + name, "-ext",
				"san=dns:localhost,ip:127.0.0.1", "-validity", "2", "-storetype", "PKCS12", "-keystore",
				store.toString(), "-storepass", new String(PASSWORD))
			.redirectErrorStream(true)
			.start();
		String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		assertThat(keytool.waitFor(1, TimeUnit.MINUTES)).isTrue();
		assertThat(keytool.exitValue()).as(output).isZero();
		KeyStore keys = KeyStore.getInstance("PKCS12");
		try (InputStream input = Files.newInputStream(store)) {
			keys.load(input, PASSWORD);
		}
		return new TestCertificate((PrivateKey) keys.getKey("key", PASSWORD), keys.getCertificate("key"));
	}

	String certificatePem() throws GeneralSecurityException {
		return pem("CERTIFICATE", this.certificate.getEncoded());
	}

	String keyPem() {
		return pem("PRIVATE KEY", this.key.getEncoded());
	}

	private static String pem(String type, byte[] content) {
		return "-----BEGIN %s-----%n%s%n-----END %s-----%n".formatted(type,
				Base64.getMimeEncoder().encodeToString(content), type);
	}

	/**
	 * Makes a context for a client.
	 * @param own the certificate that the client presents, if any
	 * @param trusted the certificate that the client trusts
	 */
	static SSLContext client(@Nullable TestCertificate own, TestCertificate... trusted)
			throws IOException, GeneralSecurityException {
		KeyStore trust = KeyStore.getInstance("PKCS12");
		trust.load(null, null);
		for (int i = 0; i < trusted.length; i++) {
			trust.setCertificateEntry("trusted" + i, trusted[i].certificate());
		}
		TrustManagerFactory trustManagers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
		trustManagers.init(trust);
		KeyStore keys = KeyStore.getInstance("PKCS12");
		keys.load(null, null);
		if (own != null) {
			keys.setKeyEntry("own", own.key(), PASSWORD, new Certificate[] { own.certificate() });
		}
		KeyManagerFactory keyManagers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
		keyManagers.init(keys, PASSWORD);
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(keyManagers.getKeyManagers(), trustManagers.getTrustManagers(), null);
		return context;
	}

}
