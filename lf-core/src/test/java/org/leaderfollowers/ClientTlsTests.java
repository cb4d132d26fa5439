package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.time.Duration;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

import io.netty.pkitesting.X509Bundle;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/** Tests for {@link ClientTls}. */
@Timeout(120)
class ClientTlsTests {

	private static final String SUITE = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";

	@RegisterExtension
	private final Engine engine = new Engine();

	/**
	 * A client of a server with a certificate for another name must not send anything.
	 */
	@Test
	void aServerMustHaveACertificateForTheNameThatTheClientConnectsTo() {
		ClientTls tls = ClientTls.of(Certificates.client());
		try (TcpClient client = start(tls, Certificates.SERVER)) {
			assertThat(Engine.text(client.exchange(Engine.bytes("x")))).isEqualTo("x");
		}
		try (TcpClient deceived = start(tls, Certificates.OTHER_SERVER)) {
			Engine.eventually()
				.untilAsserted(
						() -> assertThat(deceived.snapshot().addresses().get(0).failure()).contains("localhost"));
			assertThat(deceived.snapshot().connects()).isZero();
		}
		try (TcpClient careless = start(tls.verifyHostname(false), Certificates.OTHER_SERVER)) {
			assertThat(Engine.text(careless.exchange(Engine.bytes("x")))).isEqualTo("x");
		}
	}

	@Test
	void aClientUsesItsNewTlsForTheConnectionsThatFollow() {
		try (TcpClient client = start(ClientTls.of(Certificates.trusting(Certificates.of(Certificates.OTHER_CA))),
				Certificates.SERVER)) {
			Engine.eventually().until(() -> client.snapshot().failedConnects() > 0);
			client.tls(ClientTls.of(Certificates.client()));
			assertThat(Engine.text(client.exchange(Engine.bytes("x")))).isEqualTo("x");
		}
	}

	@Test
	void theEngineUsesTheProtocolsAndCipherSuitesThatWereNamed() {
		ClientTls tls = ClientTls.of(Certificates.client()).protocols("TLSv1.2").cipherSuites(SUITE);
		for (ClientTls copy : new ClientTls[] { tls, tls.verifyHostname(false) }) {
			SSLEngine created = engine(copy);
			assertThat(created.getUseClientMode()).isTrue();
			assertThat(created.getEnabledProtocols()).containsExactly("TLSv1.2");
			assertThat(created.getEnabledCipherSuites()).containsExactly(SUITE);
		}
		assertThat(engine(ClientTls.of(Certificates.client()).cipherSuites(SUITE).protocols("TLSv1.2"))
			.getEnabledCipherSuites()).containsExactly(SUITE);
	}

	@Test
	void withoutNamesTheEngineUsesThoseOfTheContext() {
		SSLContext context = Certificates.client();
		SSLEngine created = engine(ClientTls.of(context));
		assertThat(created.getEnabledProtocols()).isEqualTo(context.getDefaultSSLParameters().getProtocols());
		assertThat(created.getEnabledCipherSuites()).isEqualTo(context.getDefaultSSLParameters().getCipherSuites());
	}

	/** A server with several certificates chooses one by this name. */
	@Test
	void theEngineKnowsTheServer() {
		SSLEngine created = engine(ClientTls.of(Certificates.client()));
		assertThat(created.getPeerHost()).isEqualTo("peer.test");
		assertThat(created.getPeerPort()).isEqualTo(7070);
	}

	@Test
	void aTlsThatCannotWorkIsRefused() throws Exception {
		SSLContext empty = SSLContext.getInstance("TLS");
		assertThatIllegalArgumentException().isThrownBy(() -> ClientTls.of(empty)).withMessageContaining("init(");
		ClientTls tls = ClientTls.of(Certificates.client());
		assertThatIllegalArgumentException().isThrownBy(() -> tls.protocols("TLSv1.4"))
			.withMessageContaining("'TLSv1.4' is not");
		assertThatIllegalArgumentException().isThrownBy(() -> tls.cipherSuites("ROT13"))
			.withMessageContaining("'ROT13' is not");
	}

	private static SSLEngine engine(ClientTls tls) {
		return tls.newEngine(InetSocketAddress.createUnresolved("peer.test", 7070));
	}

	private TcpClient start(ClientTls tls, X509Bundle certificate) {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(Connection::send)
			.tls(ServerTls.of(Certificates.context(certificate, Certificates.CA))));
		TcpClient client = TcpClient.builder(this.engine.pool(2, 4))
			.address("localhost", server.port())
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.backoff(Duration.ofMillis(1), Duration.ofMillis(20))
			.tls(tls)
			.build();
		client.start();
		return client;
	}

}
