package org.leaderfollowers.spring.test.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link TcpTestClient} with TLS, against a server of the JDK.
 */
@Timeout(120)
class TcpTestClientTlsTests {

	private static SSLContext known;

	private static SSLContext stranger;

	private final BlockingQueue<String> seen = new LinkedBlockingQueue<>();

	private SSLServerSocket server;

	@BeforeAll
	static void makeCertificates(@TempDir Path directory) throws Exception {
		known = TestCertificates.selfSigned(directory, "known");
		stranger = TestCertificates.selfSigned(directory, "stranger");
	}

	@BeforeEach
	void openServer() throws IOException {
		this.server = (SSLServerSocket) known.getServerSocketFactory()
			.createServerSocket(0, 10, InetAddress.getLoopbackAddress());
	}

	private void startServer(boolean needsClientCertificate) {
		this.server.setNeedClientAuth(needsClientCertificate);
		Thread acceptor = new Thread(this::serve, "tls-server");
		acceptor.setDaemon(true);
		acceptor.start();
	}

	@AfterEach
	void stopServer() throws IOException {
		this.server.close();
	}

	/** Echoes lines, one client after the other. */
	private void serve() {
		while (!this.server.isClosed()) {
			try (SSLSocket socket = (SSLSocket) this.server.accept()) {
				socket.startHandshake();
				this.seen.add(describe((ExtendedSSLSession) socket.getSession()));
				BufferedReader reader = new BufferedReader(
						new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
				for (String line = reader.readLine(); line != null; line = reader.readLine()) {
					socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
				}
			}
			catch (IOException ex) {
				this.seen.add(ex.toString());
			}
		}
	}

	private static String describe(ExtendedSSLSession session) {
		String client;
		try {
			client = session.getPeerPrincipal().toString();
		}
		catch (SSLPeerUnverifiedException ex) {
			client = "nobody";
		}
		return "%s %s %s".formatted(session.getProtocol(), client, session.getRequestedServerNames());
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void speaksTls(String protocol) throws Exception {
		startServer(false);
		try (TcpTestClient client = tcp().tls(known).protocols(protocol).connect()) {
			client.send("a", "b");
			assertThat(client).receives("a", "b").receivesNothing();
			assertThat(client.sslSession().getProtocol()).isEqualTo(protocol);
			assertThat(client.sslSession().getPeerCertificates()).singleElement()
				.isInstanceOfSatisfying(X509Certificate.class,
						(certificate) -> assertThat(certificate.getSubjectX500Principal().getName())
							.isEqualTo("CN=known"));
			client.shutdownOutput();
			assertThat(client).isClosedByServer();
		}
		assertThat(this.seen.take()).isEqualTo(protocol + " nobody []");
	}

	@Test
	void givesNameAndCertificate() throws Exception {
		startServer(true);
		try (TcpTestClient client = tcp().tls(known).serverName("orders.example").connect()) {
			assertThat(client.exchange("a")).isEqualTo("a");
		}
		assertThat(this.seen.take()).contains("CN=known").contains("orders.example");
	}

	@Test
	void trustsAnyCertificateIfAskedTo() {
		startServer(false);
		try (TcpTestClient client = tcp().tls().connect()) {
			assertThat(client.exchange("a")).isEqualTo("a");
		}
	}

	@Test
	void bundleKnowsProtocolsAndTrust() {
		startServer(false);
		SslBundle bundle = mock(SslBundle.class);
		given(bundle.createSslContext()).willReturn(known);
		given(bundle.getOptions())
			.willReturn(SslOptions.of(Set.of("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"), Set.of("TLSv1.2")));
		try (TcpTestClient client = tcp().tls(bundle).connect()) {
			assertThat(client.exchange("a")).isEqualTo("a");
			assertThat(client.sslSession().getProtocol()).isEqualTo("TLSv1.2");
			assertThat(client.sslSession().getCipherSuite()).isEqualTo("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384");
		}
		given(bundle.getOptions()).willReturn(SslOptions.of(null, Set.of("TLSv1.2")));
		try (TcpTestClient client = tcp().tls(bundle).connect()) {
			assertThat(client.sslSession().getProtocol()).isEqualTo("TLSv1.2");
		}
		given(bundle.getOptions()).willReturn(SslOptions.of(Set.of("TLS_AES_128_GCM_SHA256"), null));
		try (TcpTestClient client = tcp().tls(bundle).connect()) {
			assertThat(client.sslSession().getCipherSuite()).isEqualTo("TLS_AES_128_GCM_SHA256");
		}
	}

	@Test
	void doesNotTrustAStranger() {
		startServer(false);
		assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> tcp().tls(stranger).connect())
			.withMessageContaining("Could not connect to port")
			.withCauseInstanceOf(SSLException.class);
	}

	@Test
	void tellsThatItsCertificateWasRefused() {
		startServer(true);
		try (TcpTestClient client = tcp().tls().connect()) {
			// With TLS 1.3, the client has finished its handshake before the server
			// refuses it.
			assertThat(client).isClosedByServer();
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receive)
				.withCauseInstanceOf(SSLException.class);
		}
	}

	private TcpTestClient.Builder tcp() {
		return LfTestClient.tcp(this.server.getLocalPort()).timeout(Duration.ofSeconds(20));
	}

}
