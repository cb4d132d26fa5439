package org.leaderfollowers.docs;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.concurrent.TimeUnit;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the TLS of the guide, with keys made by the keytool of the JDK. */
class TlsServerTests {

	private static final char[] PASSWORD = "changeit".toCharArray();

	@TempDir
	Path directory;

	@Test
	void clientsAreKnownIfTheyShowACertificate() throws Exception {
		File server = keyStore("localhost");
		File client = keyStore("till-17");
		SSLContext context = TlsServer.context(server, client, PASSWORD);
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().name("tls").threads(2, 4).build()) {
			TcpServer tcp = TlsServer.start(pool, context, (connection, message) -> connection
				.send(ByteBuffer.wrap(TlsServer.whoIs(connection).getBytes(StandardCharsets.UTF_8))));
			assertThat(ask(tcp, client(server, client))).isEqualTo("CN=till-17, by TLSv1.3");
			assertThat(ask(tcp, client(server, null))).isEqualTo("somebody, by TLSv1.3");
			File renewed = keyStore("renewed");
			TlsServer.renew(tcp, TlsServer.context(renewed, client, PASSWORD));
			assertThat(ask(tcp, client(renewed, client))).isEqualTo("CN=till-17, by TLSv1.3");
			assertThat(tcp.snapshot().tls().generation()).isEqualTo(2);
			tcp.close();
		}
	}

	/**
	 * Creates a key and a self-signed certificate; the same file serves as a trust store.
	 */
	private File keyStore(String name) throws IOException, InterruptedException {
		File file = this.directory.resolve(name + ".p12").toFile();
		Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
				"-genkeypair", "-keystore", file.toString(), "-storepass", new String(PASSWORD), "-storetype", "PKCS12",
				"-alias", name, "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=" + name, "-validity", "2")
			.redirectErrorStream(true)
			.start();
		assertThat(keytool.waitFor(60, TimeUnit.SECONDS)).isTrue();
		assertThat(keytool.exitValue()).isZero();
		return file;
	}

	private static SSLContext client(File trusted, File own) throws Exception {
		TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
		// A store whose certificates are trusted, and whose key is not used.
		KeyStore anchors = KeyStore.getInstance("PKCS12");
		anchors.load(null, null);
		KeyStore store = KeyStore.getInstance(trusted, PASSWORD);
		anchors.setCertificateEntry("server", store.getCertificate(store.aliases().nextElement()));
		trust.init(anchors);
		KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
		if (own != null) {
			keys.init(KeyStore.getInstance(own, PASSWORD), PASSWORD);
		}
		SSLContext context = SSLContext.getInstance("TLS");
		context.init((own != null) ? keys.getKeyManagers() : null, trust.getTrustManagers(), null);
		return context;
	}

	private static String ask(TcpServer server, SSLContext context) throws IOException {
		try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", server.port())) {
			socket.setSoTimeout(30_000);
			socket.getOutputStream().write("who am I\n".getBytes(StandardCharsets.US_ASCII));
			return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))
				.readLine();
		}
	}

}
