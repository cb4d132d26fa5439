package org.leaderfollowers;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import javax.net.ssl.SSLContext;

import io.netty.pkitesting.X509Bundle;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** The client of OpenSSL, if it is installed. */
class OpensslTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final Recorder recorder = new Recorder();

	private final List<Client> clients = new ArrayList<>();

	@TempDir
	Path directory;

	@BeforeAll
	static void isInstalled() throws InterruptedException {
		try {
			Process version = new ProcessBuilder("openssl", "version").redirectErrorStream(true).start();
			assumeTrue(version.waitFor(30, TimeUnit.SECONDS) && version.exitValue() == 0, "no openssl");
		}
		catch (IOException ex) {
			assumeTrue(false, "no openssl");
		}
	}

	@AfterEach
	void closeClients() {
		this.clients.forEach(Client::close);
	}

	/** An {@code openssl s_client}: what it prints is collected as it comes. */
	private static final class Client implements Closeable {

		private final Process process;

		private final StringBuffer output = new StringBuffer();

		private final Thread reader;

		Client(List<String> command) {
			try {
				this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
			this.reader = new Thread(this::read, "openssl output");
			this.reader.start();
		}

		private void read() {
			byte[] buffer = new byte[8192];
			try (InputStream input = this.process.getInputStream()) {
				for (int count = input.read(buffer); count >= 0; count = input.read(buffer)) {
					this.output.append(new String(buffer, 0, count, StandardCharsets.ISO_8859_1));
				}
			}
			catch (IOException ex) {
				// It was closed.
			}
		}

		Client type(String text) {
			try {
				this.process.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
				this.process.getOutputStream().flush();
				return this;
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		Client awaitOutput(String... texts) {
			Engine.eventually().untilAsserted(() -> assertThat(this.output.toString()).contains(texts));
			return this;
		}

		/**
		 * A line that is typed too early is discarded together with the command before
		 * it.
		 */
		void awaitCount(String text, int count) {
			Engine.eventually().until(() -> this.output.toString().split(text, -1).length == count + 1);
		}

		String endOfInput() {
			try {
				this.process.getOutputStream().close();
				return awaitExit();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		String awaitExit() {
			try {
				assertThat(this.process.waitFor(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).as("%s", this.output)
					.isTrue();
				this.reader.join(Engine.DEADLINE.toMillis());
				return this.output.toString();
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
		}

		@Override
		public void close() {
			this.process.destroyForcibly();
		}

	}

	private Client client(TcpServer server, String... options) throws IOException {
		Path ca = Certificates.write(Certificates.CA, this.directory, "ca");
		List<String> command = new ArrayList<>(List.of("openssl", "s_client", "-connect", "localhost:" + server.port(),
				"-CAfile", ca.toString(), "-verify_return_error", "-verify_hostname", "localhost", "-4"));
		command.addAll(List.of(options));
		Client client = new Client(command);
		this.clients.add(client);
		return client;
	}

	private TcpServer start(ServerTls tls) {
		return this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(new Reverser(this.recorder))
			.tls(tls));
	}

	/** Reverses lines, so that the client's own echo is not taken for a reply. */
	private static final class Reverser implements MessageHandler {

		private final Recorder recorder;

		Reverser(Recorder recorder) {
			this.recorder = recorder;
		}

		@Override
		public void onOpen(Connection connection) throws Exception {
			this.recorder.onOpen(connection);
		}

		@Override
		public void onMessage(Connection connection, java.nio.ByteBuffer message) {
			connection.send(Engine.bytes(new StringBuilder(Engine.text(message)).reverse().toString()));
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) throws Exception {
			this.recorder.onClose(connection, reason);
		}

	}

	private static ServerTls tls() {
		return ServerTls.of(Certificates.server());
	}

	private void awaitClosed(TcpServer server, CloseReason reason) {
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections()).containsEntry(reason, 1L));
	}

	@ParameterizedTest
	@ValueSource(strings = { "-tls1_2", "-tls1_3" })
	void talks(String protocol) throws IOException {
		TcpServer server = start(tls());
		Client client = client(server, protocol, "-quiet").type("hello\n").awaitOutput("olleh").type("world\n");
		client.awaitOutput("dlrow");
		String version = this.recorder.await(1).sslSession().getProtocol();
		assertThat(version).isEqualTo(protocol.equals("-tls1_2") ? "TLSv1.2" : "TLSv1.3");
		client.close();
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
	}

	@ParameterizedTest
	@ValueSource(strings = { "-tls1_2", "-tls1_3" })
	void saysGoodbyeInOrder(String protocol) throws IOException {
		TcpServer server = start(tls());
		Client client = client(server, protocol).type("hello\n").awaitOutput("olleh");
		client.type("Q\n");
		client.awaitExit();
		awaitClosed(server, CloseReason.PEER);
	}

	/** TLS 1.3 only: earlier versions end both directions at once. */
	@Test
	void readsTheRepliesAfterTheEndOfItsInput() throws IOException {
		TcpServer server = start(tls());
		StringBuilder lines = new StringBuilder();
		for (int i = 0; i < 200; i++) {
			lines.append("line").append(i).append("\n");
		}
		Client client = client(server, "-tls1_3", "-quiet", "-no_ign_eof").type("first\n").awaitOutput("tsrif");
		client.type(lines.toString());
		client.awaitOutput("991enil");
		client.endOfInput();
		awaitClosed(server, CloseReason.PEER);
	}

	@ParameterizedTest
	@ValueSource(strings = { "-tls1_2", "-tls1_3" })
	void isKnownByItsCertificate(String protocol) throws IOException {
		TcpServer server = start(tls().clientAuth(ClientAuth.NEED));
		client(server, with(Certificates.CLIENT, protocol)).type("hello\n").awaitOutput("olleh");
		assertThat(this.recorder.await(1).sslSession().getPeerPrincipal().getName()).isEqualTo("CN=client");
	}

	private String[] with(X509Bundle bundle, String protocol) throws IOException {
		String file = Certificates.write(bundle, this.directory, "own").toString();
		return new String[] { protocol, "-cert", file, "-key", file };
	}

	@ParameterizedTest
	@ValueSource(strings = { "-tls1_2", "-tls1_3" })
	void isToldThatItsCertificateIsMissing(String protocol) throws IOException {
		TcpServer server = start(tls().clientAuth(ClientAuth.NEED));
		assertThat(client(server, protocol, "-ign_eof").awaitExit()).contains("alert");
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED);
		assertThat(this.recorder.connections).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "-tls1_2", "-tls1_3" })
	void isToldThatItsCertificateIsOfTheWrongAuthority(String protocol) throws IOException {
		TcpServer server = start(tls().clientAuth(ClientAuth.NEED));
		assertThat(client(server, with(Certificates.STRANGER, protocol)).awaitExit())
			.contains("alert certificate unknown");
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "-tls1_2", "-tls1_3" })
	void isToldThatItsCertificateHasExpired(String protocol) throws IOException {
		TcpServer server = start(tls().clientAuth(ClientAuth.NEED));
		assertThat(client(server, with(Certificates.EXPIRED, protocol)).awaitExit()).contains("alert certificate");
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED);
	}

	@Test
	void doesNotAcceptAnExpiredServer() throws IOException {
		TcpServer server = start(ServerTls.of(Certificates.context(Certificates.EXPIRED, Certificates.CA)));
		assertThat(client(server, "-verify_hostname", "expired").awaitExit()).contains("certificate has expired");
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED);
	}

	@Test
	void asksForAServerByName() throws Exception {
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(Certificates.keyManagers(Certificates.SERVER, Certificates.OTHER_SERVER), null, null);
		TcpServer server = start(ServerTls.of(context));
		client(server, "-servername", "localhost").awaitOutput("subject=CN = localhost");
		client(server, "-servername", "other.test", "-verify_hostname", "other.test")
			.awaitOutput("subject=CN = other.test");
	}

	@Test
	void updatesItsKeys() throws IOException {
		TcpServer server = start(tls());
		Client client = client(server, "-tls1_3").type("before\n").awaitOutput("erofeb");
		for (int i = 1; i <= 4; i++) {
			// The client's own keys and ours change; at last, only the client's own.
			client.type((i < 4) ? "K\n" : "k\n").awaitCount("KEYUPDATE", i);
			client.type("after" + i + "\n").awaitOutput(i + "retfa");
		}
	}

	@Test
	void mayNotRenegotiate() throws IOException {
		TcpServer server = start(tls());
		Client client = client(server, "-tls1_2").type("before\n").awaitOutput("erofeb").type("R\n");
		assertThat(client.awaitExit()).contains("RENEGOTIATING");
		awaitClosed(server, CloseReason.MALFORMED);
	}

}
