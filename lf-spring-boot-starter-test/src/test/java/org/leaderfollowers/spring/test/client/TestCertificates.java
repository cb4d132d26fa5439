package org.leaderfollowers.spring.test.client;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A self-signed certificate, made by the keytool of the JDK. */
final class TestCertificates {

	private static final String PASSWORD = "password";

	private TestCertificates() {
	}

	/** Returns a context that presents and trusts the same certificate. */
	static SSLContext selfSigned(Path directory, String name)
			throws IOException, InterruptedException, GeneralSecurityException {
		Path file = directory.resolve(name + ".p12");
		Process keytool = new ProcessBuilder(
				List.of(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair", "-alias",
						name, "-dname", "CN=" + name, "-keyalg", "EC", "-validity", "2", "-keystore", file.toString(),
						"-storetype", "PKCS12", "-storepass", PASSWORD))
			.redirectErrorStream(true)
			.redirectOutput(directory.resolve("keytool.txt").toFile())
			.start();
		if (keytool.waitFor() != 0) {
			throw new IllegalStateException(Files.readString(directory.resolve("keytool.txt")));
		}
		KeyStore store = KeyStore.getInstance("PKCS12");
		try (InputStream input = Files.newInputStream(file)) {
			store.load(input, PASSWORD.toCharArray());
		}
		KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
		keys.init(store, PASSWORD.toCharArray());
		TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
		trust.init(store);
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
		return context;
	}

}
