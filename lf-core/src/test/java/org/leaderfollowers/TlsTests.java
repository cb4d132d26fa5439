package org.leaderfollowers;

import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

import io.netty.pkitesting.X509Bundle;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.params.provider.Arguments.arguments;

class TlsTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final List<TlsPeer> peers = new ArrayList<>();

	private final ExecutorService executor = Executors.newCachedThreadPool();

	private final Recorder recorder = new Recorder();

	@AfterEach
	void closePeers() {
		this.peers.forEach(TlsPeer::close);
		this.executor.shutdownNow();
	}

	private TcpServer.Builder builder(ServerTls tls) {
		return TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.line()).handler(this.recorder).tls(tls);
	}

	@Test
	void anEngineUsesTheProtocolsAndCipherSuitesThatWereNamed() {
		String suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
		for (ServerTls tls : List.of(tls().protocols("TLSv1.2").cipherSuites(suite),
				tls().cipherSuites(suite).protocols("TLSv1.2"),
				tls().protocols("TLSv1.2").cipherSuites(suite).clientAuth(ClientAuth.NEED))) {
			SSLEngine created = tls.newEngine();
			assertThat(created.getUseClientMode()).isFalse();
			assertThat(created.getEnabledProtocols()).containsExactly("TLSv1.2");
			assertThat(created.getEnabledCipherSuites()).containsExactly(suite);
		}
	}

	private TcpServer start(ServerTls tls) {
		return this.engine.start(builder(tls));
	}

	private TlsPeer connect(TcpServer server, String... protocols) {
		return connect(Certificates.client(), server, protocols);
	}

	private TlsPeer connect(SSLContext context, TcpServer server, String... protocols) {
		TlsPeer peer = new TlsPeer(context, server.port(), protocols);
		synchronized (this.peers) {
			this.peers.add(peer);
		}
		return peer;
	}

	private static ServerTls tls() {
		return ServerTls.of(Certificates.server());
	}

	private void awaitClosed(TcpServer server, CloseReason reason, long count) {
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections()).containsEntry(reason, count));
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void echoes(String protocol) {
		TcpServer server = start(tls());
		TlsPeer peer = connect(server, protocol).send("hello\n");
		assertThat(peer.readLine()).isEqualTo("hello");
		SSLSession session = this.recorder.await(1).sslSession();
		assertThat(session.getProtocol()).isEqualTo(protocol).isEqualTo(peer.session().getProtocol());
		assertThat(session.getCipherSuite()).isEqualTo(peer.session().getCipherSuite());
		assertThatExceptionOfType(SSLPeerUnverifiedException.class).isThrownBy(session::getPeerCertificates);
		assertThat(this.recorder.await(1).transportAddress()).isEqualTo(this.recorder.await(1).remoteAddress());
		assertThat(server.snapshot().tls()).isEqualTo(new ServerSnapshot.Tls(1, Map.of(1, 1), 1, 0, 0, 0, 1000));
		peer.close();
		assertThat(this.recorder.awaitClose(1)).containsExactly("open", "hello", "close PEER");
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().tls())
				.isEqualTo(new ServerSnapshot.Tls(1, Map.of(), 1, 0, 0, 0, 1000)));
	}

	/** A socket at its end fires for ever, and would occupy a processor as long. */
	@ParameterizedTest
	@CsvSource({ "o, TLSv1.2", "o, TLSv1.3", "GET / HTTP/1.1, TLSv1.2", "GET / HTTP/1.1, TLSv1.3" })
	void aPeerThatEndsBehindBytesThatAreNoTlsIsClosedAtOnce(String bytes, String protocol) throws IOException {
		TcpServer server = this.engine
			.start(builder(tls()).messageTimeout(Duration.ZERO).idleTimeout(Duration.ZERO).writeTimeout(Duration.ZERO));
		try (Socket plain = new Socket();
				TlsPeer peer = new TlsPeer(Certificates.client(), plain, server.port(), 0, null, protocol)) {
			assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
			plain.getOutputStream().write(bytes.getBytes(StandardCharsets.US_ASCII));
			plain.shutdownOutput();
			awaitClosed(server, CloseReason.MALFORMED, 1);
		}
	}

	@Test
	void aServerInTheClearKnowsNoSession() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), this.recorder);
		assertThat(this.engine.connect(server).send("hello\n").readLine()).isEqualTo("hello");
		assertThat(this.recorder.await(1).sslSession()).isNull();
		assertThat(server.snapshot().tls()).isNull();
		assertThatIllegalStateException().isThrownBy(() -> server.tls(tls())).withMessageContaining("does not use TLS");
	}

	private static X509Bundle bundle(String name) {
		return switch (name) {
			case "client" -> Certificates.CLIENT;
			case "stranger" -> Certificates.STRANGER;
			case "expired" -> Certificates.EXPIRED;
			default -> null;
		};
	}

	@ParameterizedTest
	@CsvSource({ "NONE,nobody,TLSv1.3", "NONE,client,TLSv1.3", "WANT,nobody,TLSv1.2", "WANT,nobody,TLSv1.3",
			"WANT,client,TLSv1.2", "WANT,client,TLSv1.3", "NEED,client,TLSv1.2", "NEED,client,TLSv1.3" })
	void clientsThatMayComeAreLetIn(ClientAuth auth, String who, String protocol) throws IOException {
		TcpServer server = start(tls().clientAuth(auth));
		TlsPeer peer = connect(Certificates.context(bundle(who), Certificates.CA), server, protocol).send("hello\n");
		assertThat(peer.readLine()).isEqualTo("hello");
		SSLSession session = this.recorder.await(1).sslSession();
		if (auth != ClientAuth.NONE && bundle(who) != null) {
			assertThat(session.getPeerPrincipal().getName()).isEqualTo("CN=client");
		}
		else {
			assertThatExceptionOfType(SSLPeerUnverifiedException.class).isThrownBy(session::getPeerPrincipal);
		}
	}

	@ParameterizedTest
	@CsvSource({ "NEED,nobody,TLSv1.2", "NEED,nobody,TLSv1.3", "NEED,stranger,TLSv1.2", "NEED,stranger,TLSv1.3",
			"NEED,expired,TLSv1.2", "NEED,expired,TLSv1.3", "WANT,expired,TLSv1.3" })
	void clientsThatMayNotComeAreTurnedAwayWithAnAlert(ClientAuth auth, String who, String protocol) {
		TcpServer server = start(tls().clientAuth(auth));
		SSLContext context = (bundle(who) != null) ? insistent(bundle(who)) : Certificates.client();
		TlsPeer peer = connect(context, server, protocol);
		assertThatExceptionOfType(IOException.class).isThrownBy(() -> {
			try {
				peer.shakeHands().send("hello\n").readLine();
			}
			catch (java.io.UncheckedIOException ex) {
				throw ex.getCause();
			}
		});
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED, 1);
		assertThat(server.snapshot().tls()).isEqualTo(new ServerSnapshot.Tls(1, Map.of(), 0, 1, 0, 0, 1000));
		assertThat(this.recorder.of(1)).as("calls of the handler").isEmpty();
		assertThat(this.engine.log()).singleElement()
			.asString()
			.contains("was not established: SSLHandshakeException: ");
	}

	/** Its client presents its certificate, whatever authorities the server names. */
	private static SSLContext insistent(X509Bundle own) {
		try {
			SSLContext context = SSLContext.getInstance("TLS");
			javax.net.ssl.X509ExtendedKeyManager keys = (javax.net.ssl.X509ExtendedKeyManager) Certificates
				.keyManagers(own)[0];
			context.init(new javax.net.ssl.KeyManager[] { new InsistentKeyManager(keys, own) },
					Certificates.trustManagers(Certificates.CA), null);
			return context;
		}
		catch (GeneralSecurityException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static final class InsistentKeyManager extends javax.net.ssl.X509ExtendedKeyManager {

		private final X509Bundle own;

		InsistentKeyManager(javax.net.ssl.X509ExtendedKeyManager keys, X509Bundle own) {
			this.own = own;
		}

		@Override
		public String[] getClientAliases(String keyType, java.security.Principal[] issuers) {
			return new String[] { "own" };
		}

		@Override
		public String chooseClientAlias(String[] keyType, java.security.Principal[] issuers, Socket socket) {
			return "own";
		}

		@Override
		public String[] getServerAliases(String keyType, java.security.Principal[] issuers) {
			return null;
		}

		@Override
		public String chooseServerAlias(String keyType, java.security.Principal[] issuers, Socket socket) {
			return null;
		}

		@Override
		public X509Certificate[] getCertificateChain(String alias) {
			return this.own.getCertificatePath();
		}

		@Override
		public java.security.PrivateKey getPrivateKey(String alias) {
			return this.own.getKeyPair().getPrivate();
		}

	}

	@Test
	void aClientThatDoesNotTrustTheServerIsAFailedHandshake() {
		TcpServer server = start(tls());
		TlsPeer peer = connect(Certificates.context(null, Certificates.OTHER_CA), server);
		assertThatExceptionOfType(SSLException.class).isThrownBy(peer::shakeHands);
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED, 1);
		assertThat(this.engine.log()).singleElement().asString().contains("certificate_unknown");
	}

	@Test
	void manyFailedHandshakesAreOneLine() {
		TcpServer server = start(tls());
		for (int i = 0; i < 20; i++) {
			this.engine.connect(server).send("GET / HTTP/1.1\r\n\r\n").awaitClosed();
		}
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED, 20);
		assertThat(this.engine.log()).hasSize(1);
		assertThat(this.recorder.connections).isEmpty();
	}

	@Test
	void aPortScanIsNoFailedHandshake() {
		TcpServer server = start(tls());
		this.engine.connect(server).close();
		awaitClosed(server, CloseReason.PEER, 1);
		assertThat(server.snapshot().tls().failedHandshakes()).isZero();
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	void theNameThatTheClientAsksForChoosesTheCertificate() throws Exception {
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(Certificates.keyManagers(Certificates.SERVER, Certificates.OTHER_SERVER), null, null);
		TcpServer server = start(ServerTls.of(context));
		for (String name : List.of("localhost", "other.test", "localhost")) {
			TlsPeer peer = new TlsPeer(Certificates.client(), server.port(), 0, name);
			this.peers.add(peer);
			assertThat(peer.shakeHands().session().getPeerPrincipal().getName()).isEqualTo("CN=" + name);
		}
	}

	@Test
	void aStalledHandshakeIsClosedInTimeAndDisturbsNobody() {
		TcpServer server = this.engine.start(builder(tls()).handshakeTimeout(Duration.ofSeconds(3)));
		TlsPeer other = connect(server);
		assertThat(other.send("before\n").readLine()).isEqualTo("before");
		Peer silent = this.engine.connect(server);
		Peer stalled = this.engine.connect(server).send("\u0016\u0003\u0001");
		silent.awaitClosed();
		stalled.awaitClosed();
		awaitClosed(server, CloseReason.HANDSHAKE_TIMEOUT, 2);
		assertThat(other.send("after\n").readLine()).isEqualTo("after");
		assertThat(server.snapshot().tls()).isEqualTo(new ServerSnapshot.Tls(1, Map.of(1, 1), 1, 2, 0, 0, 1000));
		assertThat(this.engine.log()).singleElement().asString().contains("handshake timeout of PT3S");
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void whatWasSentBeforeTheEndIsAnswered(String protocol) {
		TcpServer server = start(tls());
		TlsPeer peer = connect(server, protocol);
		peer.send("one\ntwo\n");
		assertThat(peer.readLine()).isEqualTo("one");
		assertThat(peer.readLine()).isEqualTo("two");
		if (protocol.equals("TLSv1.3")) {
			// Earlier versions have no half-closed connections.
			peer.send("three\nfour\n").shutdownOutput();
			assertThat(peer.readLine()).isEqualTo("three");
			assertThat(peer.readLine()).isEqualTo("four");
			assertThat(peer.readLine()).isNull();
		}
		peer.close();
		assertThat(this.recorder.awaitClose(1)).endsWith("close PEER");
	}

	@Test
	void anEndThatIsNotAnnouncedHasAReasonOfItsOwn() throws Exception {
		TcpServer server = start(tls());
		try (Socket plain = new Socket(java.net.InetAddress.getLoopbackAddress(), server.port())) {
			javax.net.ssl.SSLSocket socket = (javax.net.ssl.SSLSocket) Certificates.client()
				.getSocketFactory()
				.createSocket(plain, "localhost", server.port(), false);
			socket.getOutputStream().write("hello\nhalf a li".getBytes());
			plain.shutdownOutput();
			assertThat(this.recorder.awaitClose(1)).containsExactly("open", "hello", "close TRUNCATED");
		}
	}

	@Test
	void largeMessagesGoBothWays() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.lengthField(4))
			.maxMessageSize(4 * 1024 * 1024)
			.maxOutboundSize(8 * 1024 * 1024)
			.handler((connection, message) -> connection.send(message))
			.tls(tls()));
		TlsPeer peer = connect(server);
		byte[] frame = new byte[4 + 3_000_000];
		ByteBuffer.wrap(frame).putInt(3_000_000);
		for (int i = 4; i < frame.length; i++) {
			frame[i] = (byte) (i * 31 + (i >> 8));
		}
		for (int i = 0; i < 3; i++) {
			Future<?> sending = this.executor.submit(() -> peer.send(frame));
			assertThat(peer.read(frame.length)).isEqualTo(frame);
			assertThat(sending).succeedsWithin(Engine.DEADLINE);
		}
	}

	@Test
	void pipelinedMessagesAreAnsweredInOrder() {
		TcpServer server = start(tls());
		TlsPeer peer = connect(server);
		int count = 20_000;
		StringBuilder all = new StringBuilder();
		for (int i = 0; i < count; i++) {
			all.append(i).append('\n');
		}
		Future<?> sending = this.executor.submit(() -> peer.send(all.toString()));
		for (int i = 0; i < count; i++) {
			assertThat(peer.readLine()).isEqualTo(Integer.toString(i));
		}
		assertThat(sending).succeedsWithin(Engine.DEADLINE);
		assertThat(this.recorder.overlapped).isFalse();
	}

	@Test
	void threadsMaySendAtTheSameTime() throws Exception {
		TcpServer server = start(tls());
		int senders = 4;
		int messages = 300;
		List<TlsPeer> clients = new ArrayList<>();
		for (int i = 0; i < 20; i++) {
			clients.add(connect(server).shakeHands());
		}
		Engine.eventually().until(() -> this.recorder.connections.size() == clients.size());
		List<Callable<Object>> work = new ArrayList<>();
		for (int s = 0; s < senders; s++) {
			int sender = s;
			work.add(() -> {
				for (int m = 0; m < messages; m++) {
					for (Connection connection : this.recorder.connections.values()) {
						connection.send(Engine.bytes(sender + ":" + m + "x".repeat(m)));
					}
				}
				return null;
			});
		}
		List<Future<Object>> sent = work.stream().map(this.executor::submit).toList();
		for (TlsPeer client : clients) {
			int[] next = new int[senders];
			for (int i = 0; i < senders * messages; i++) {
				String line = client.readLine();
				int sender = line.charAt(0) - '0';
				assertThat(line).isEqualTo(sender + ":" + next[sender] + "x".repeat(next[sender]));
				next[sender]++;
			}
		}
		for (Future<Object> each : sent) {
			assertThat(each).succeedsWithin(Engine.DEADLINE);
		}
	}

	/** Does something else before it accepts the certificate of a client. */
	private static final class OwnTrustManager extends X509ExtendedTrustManager {

		private final Runnable before;

		OwnTrustManager(Runnable before) {
			this.before = before;
		}

		private void check() {
			this.before.run();
		}

		/** Creates a server that asks for certificates. */
		ServerTls tls() throws Exception {
			SSLContext context = SSLContext.getInstance("TLS");
			context.init(Certificates.keyManagers(Certificates.SERVER), new TrustManager[] { this }, null);
			return ServerTls.of(context).clientAuth(ClientAuth.WANT);
		}

		@Override
		public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {
			check();
		}

		@Override
		public void checkClientTrusted(X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {
			check();
		}

		@Override
		public void checkClientTrusted(X509Certificate[] chain, String type) {
			check();
		}

		@Override
		public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {
		}

		@Override
		public void checkServerTrusted(X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {
		}

		@Override
		public void checkServerTrusted(X509Certificate[] chain, String type) {
		}

		@Override
		public X509Certificate[] getAcceptedIssuers() {
			return new X509Certificate[0];
		}

	}

	/** For example because a library that it needs is missing. */
	@ParameterizedTest
	@MethodSource
	void aTrustManagerThatFailsIsAFailedHandshake(String protocol, Throwable failure) throws Exception {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 2))
			.framing(Framing.line())
			.handler(this.recorder)
			.tls(new OwnTrustManager(() -> {
				throw TlsTests.<RuntimeException>undeclared(failure);
			}).tls()));
		TlsPeer peer = connect(Certificates.context(Certificates.CLIENT, Certificates.CA), server, protocol);
		AtomicReference<String> reply = new AtomicReference<>();
		// In TLS 1.3, the client does not wait for this check.
		catchThrowable(() -> reply.set(peer.shakeHands().send("x\n").readLine()));
		assertThat(reply).hasNullValue();
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED, 1);
		assertThat(server.snapshot().tls().failedHandshakes()).isOne();
		assertThat(this.engine.log()).singleElement().asString().contains("made for the test");
		assertThat(connect(server, protocol).send("other\n").readLine()).isEqualTo("other");
	}

	static Stream<Arguments> aTrustManagerThatFailsIsAFailedHandshake() {
		return Stream.of("TLSv1.2", "TLSv1.3")
			.flatMap((protocol) -> Stream
				.of(new IllegalStateException("made for the test"), new NoClassDefFoundError("made for the test"),
						new AssertionError("made for the test"))
				.map((failure) -> arguments(protocol, failure)));
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> T undeclared(Throwable failure) throws T {
		throw (T) failure;
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void aTrustManagerThatBlocksHoldsUpNobodyElse(String protocol) throws Exception {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch entered = new CountDownLatch(1);
		OwnTrustManager slow = new OwnTrustManager(() -> {
			entered.countDown();
			Engine.pass(gate);
		});
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 2))
			.framing(Framing.line())
			.handler(this.recorder)
			.tls(slow.tls()));
		TlsPeer other = connect(server, protocol);
		assertThat(other.send("before\n").readLine()).isEqualTo("before");
		TlsPeer known = connect(Certificates.context(Certificates.CLIENT, Certificates.CA), server, protocol);
		Future<String> reply = this.executor.submit(() -> known.shakeHands().send("known\n").readLine());
		Engine.pass(entered);
		for (int i = 0; i < 20; i++) {
			assertThat(other.send("meanwhile\n").readLine()).isEqualTo("meanwhile");
		}
		assertThat(connect(server, protocol).send("new\n").readLine()).isEqualTo("new");
		assertThat(reply).isNotDone();
		gate.countDown();
		assertThat(reply).succeedsWithin(Engine.DEADLINE).isEqualTo("known");
	}

	@Test
	void aServerDrainsWhatItHasReceived() throws Exception {
		CountDownLatch entered = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.line()).handler((connection, message) -> {
				entered.countDown();
				Engine.pass(gate);
				connection.send(message);
			}).tls(tls()));
		TlsPeer peer = connect(server).send("one\ntwo\nthree\n");
		Engine.pass(entered);
		Peer stalled = this.engine.connect(server);
		Engine.eventually().until(() -> server.snapshot().openConnections() == 2);
		Future<Boolean> drained = this.executor.submit(() -> server.close(Engine.DEADLINE));
		stalled.awaitClosed();
		gate.countDown();
		assertThat(peer.readLine()).isEqualTo("one");
		assertThat(peer.readLine()).isEqualTo("two");
		assertThat(peer.readLine()).isEqualTo("three");
		assertThat(peer.readLine()).as("goodbye").isNull();
		peer.close();
		assertThat(drained).succeedsWithin(Engine.DEADLINE).isEqualTo(true);
	}

	/** A record has more bytes than the message in it. */
	@Test
	void aDrainEndsWithTheLastRecordThatWasReceived() throws Exception {
		CountDownLatch entered = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.line()).handler((connection, message) -> {
				entered.countDown();
				Engine.pass(gate);
				connection.send(message);
			}).tls(tls()));
		TlsPeer peer = connect(server).send("one\n");
		Engine.pass(entered);
		peer.send("two\n");
		Peer stalled = this.engine.connect(server);
		Engine.eventually().until(() -> server.snapshot().openConnections() == 2);
		Future<Boolean> drained = this.executor.submit(() -> server.close(Engine.DEADLINE));
		stalled.awaitClosed();
		gate.countDown();
		assertThat(peer.readLine()).isEqualTo("one");
		assertThat(peer.readLine()).isEqualTo("two");
		assertThat(peer.readLine()).as("goodbye").isNull();
		peer.close();
		assertThat(drained).succeedsWithin(Engine.DEADLINE).isEqualTo(true);
	}

	@Test
	void aPeerThatDoesNotReadIsFeltAndClosedInTheEnd() {
		AtomicReference<Connection> congested = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.maxOutboundSize(256 * 1024)
			.writeTimeout(Duration.ofMillis(500))
			.handler(new MessageHandler() {
				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					congested.set(connection);
					onWritable(connection);
				}

				@Override
				public void onWritable(Connection connection) {
					// The system may accept megabytes before its buffers are full.
					while (connection.isWritable()) {
						connection.send(Engine.bytes("y".repeat(16 * 1024)));
					}
				}
			})
			.tls(tls()));
		TlsPeer peer = new TlsPeer(Certificates.client(), server.port(), 8 * 1024, null);
		this.peers.add(peer);
		peer.send("go\n");
		awaitClosed(server, CloseReason.WRITE_TIMEOUT, 1);
		assertThat(congested.get().isOpen()).isFalse();
		assertThat(pool.memory().used()).isZero();
	}

	@Test
	void aPeerThatReadsLateGetsEverything() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.maxOutboundSize(16 * 1024 * 1024)
			.handler((connection, message) -> {
				for (int i = 0; i < 2000; i++) {
					connection.send(Engine.bytes(i + "z".repeat(i)));
				}
			})
			.tls(tls()));
		TlsPeer peer = new TlsPeer(Certificates.client(), server.port(), 8 * 1024, null);
		this.peers.add(peer);
		peer.send("go\n");
		Engine.eventually().until(() -> server.snapshot().sentBytes() > 2_000_000);
		for (int i = 0; i < 2000; i++) {
			assertThat(peer.readLine()).isEqualTo(i + "z".repeat(i));
		}
	}

	@Test
	void aRenewedCertificateIsForNewConnections() throws Exception {
		TcpServer server = start(tls());
		AtomicBoolean stop = new AtomicBoolean();
		List<Future<Integer>> load = new ArrayList<>();
		for (int i = 0; i < 2; i++) {
			load.add(this.executor.submit(() -> {
				int count = 0;
				while (!stop.get()) {
					try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
						assertThat(peer.send("load\n").readLine()).isEqualTo("load");
						count++;
					}
				}
				return count;
			}));
		}
		TlsPeer old = connect(server);
		assertThat(old.send("old\n").readLine()).isEqualTo("old");
		server.tls(ServerTls.of(Certificates.context(Certificates.RENEWED, Certificates.CA)));
		TlsPeer renewed = connect(server);
		assertThat(renewed.send("new\n").readLine()).isEqualTo("new");
		assertThat(old.send("still\n").readLine()).isEqualTo("still");
		assertThat(renewed.session().getPeerCertificates()[0]).isEqualTo(Certificates.of(Certificates.RENEWED));
		assertThat(old.session().getPeerCertificates()[0]).isEqualTo(Certificates.of(Certificates.SERVER));
		stop.set(true);
		for (Future<Integer> each : load) {
			assertThat(each).succeedsWithin(Engine.DEADLINE).satisfies((count) -> assertThat(count).isPositive());
		}
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().tls().openConnections()).isEqualTo(Map.of(1, 1, 2, 1)));
		assertThat(server.snapshot().tls().generation()).isEqualTo(2);
		old.close();
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().tls().openConnections()).isEqualTo(Map.of(2, 1)));
	}

	@Test
	void idleConnectionsHoldNoBuffers() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message))
			.tls(tls()));
		SSLContext context = Certificates.client();
		for (int i = 0; i < 1000; i++) {
			assertThat(connect(context, server).send("hello\n").readLine()).isEqualTo("hello");
		}
		assertThat(pool.memory().used()).as("what connections keep").isZero();
		assertThat(server.snapshot().openConnections()).isEqualTo(1000);
	}

	@Test
	void aTlsThatCannotWorkIsRefused() throws Exception {
		SSLContext empty = SSLContext.getInstance("TLS");
		assertThatIllegalArgumentException().isThrownBy(() -> ServerTls.of(empty)).withMessageContaining("init(");
		assertThatIllegalArgumentException().isThrownBy(() -> tls().protocols("TLSv1.4"))
			.withMessageContaining("'TLSv1.4' is not")
			.withMessageContaining("TLSv1.3");
		assertThatIllegalArgumentException().isThrownBy(() -> tls().protocols())
			.withMessageContaining("'protocols' must not be empty");
		assertThatIllegalArgumentException().isThrownBy(() -> tls().cipherSuites("ROT13"))
			.withMessageContaining("'ROT13' is not");
		assertThatIllegalArgumentException().isThrownBy(() -> builder(tls()).handshakeTimeout(Duration.ofSeconds(-1)));
	}

	@Test
	void protocolsAndCipherSuitesAreThoseThatWereNamed() {
		TcpServer server = start(tls().protocols("TLSv1.2").cipherSuites("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"));
		TlsPeer peer = connect(server);
		assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
		assertThat(peer.session().getProtocol()).isEqualTo("TLSv1.2");
		assertThat(peer.session().getCipherSuite()).isEqualTo("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384");
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> connect(server, "TLSv1.3").shakeHands());
	}

}
