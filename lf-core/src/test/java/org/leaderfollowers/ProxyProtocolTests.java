package org.leaderfollowers;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.proxy.ProxyHeaders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * Servers behind a load balancer that speaks the PROXY protocol, over sockets.
 */
@Timeout(120)
class ProxyProtocolTests {

	private static final TrustedNetworks LOOPBACK = TrustedNetworks.of("127.0.0.0/8", "::1");

	private static final TrustedNetworks ELSEWHERE = TrustedNetworks.of("192.0.2.0/24");

	private static final byte[] V1 = ProxyHeaders.v1("PROXY TCP4 203.0.113.9 198.51.100.1 40000 443");

	private static final String ADDRESSES = "/203.0.113.9:40000 /198.51.100.1:443";

	@RegisterExtension
	final Engine engine = new Engine();

	/** Replies with the addresses that it sees, and then with the message. */
	private final Recorder recorder = new Recorder() {
		@Override
		void message(Connection connection, ByteBuffer message) {
			connection.send(Engine.bytes(connection.remoteAddress() + " " + connection.localAddress() + " "
					+ connection.transportAddress() + " " + Engine.text(message)));
		}
	};

	private TcpServer.Builder builder() {
		return TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.line()).handler(this.recorder);
	}

	private TcpServer start() {
		return this.engine.start(builder().proxyProtocol(LOOPBACK));
	}

	private static String transport(Peer peer) {
		return "/127.0.0.1:" + peer.port();
	}

	private static byte[] with(byte[] header, String messages) {
		return ProxyHeaders.join(header, messages.getBytes(StandardCharsets.ISO_8859_1));
	}

	private static void awaitClosed(TcpServer server, CloseReason reason, long count) {
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections()).containsEntry(reason, count));
	}

	@Test
	void theClientsAddressIsWhatTheHeaderTells() {
		TcpServer server = start();
		Peer v1 = this.engine.connect(server).send(with(V1, "a\nb\n"));
		assertThat(v1.readLine()).isEqualTo(ADDRESSES + " " + transport(v1) + " a");
		assertThat(v1.readLine()).isEqualTo(ADDRESSES + " " + transport(v1) + " b");
		Peer v2 = this.engine.connect(server)
			.send(with(ProxyHeaders.v2Ipv4(ProxyHeaders.tlv(2, new byte[20_000])), "c\n"));
		assertThat(v2.readLine()).isEqualTo(ADDRESSES + " " + transport(v2) + " c");
		Peer ipv6 = this.engine.connect(server).send(with(ProxyHeaders.v2Ipv6(), "d\n"));
		assertThat(ipv6.readLine())
			.isEqualTo("/[2001:db8:0:0:0:0:0:9]:40000 /[2001:db8:0:0:0:0:0:1]:443 " + transport(ipv6) + " d");
		Connection connection = this.recorder.await(1);
		v1.close();
		assertThat(this.recorder.awaitClose(1)).containsExactly("open", "a", "b", "close PEER");
		assertThat(connection.remoteAddress()).isEqualTo(new InetSocketAddress("203.0.113.9", 40000));
	}

	@Test
	void aHeaderWithoutAddressesLeavesThoseOfTheSocket() {
		TcpServer server = start();
		for (byte[] header : List.of(ProxyHeaders.v1("PROXY UNKNOWN"), ProxyHeaders.v2Local())) {
			Peer peer = this.engine.connect(server).send(with(header, "x\n"));
			assertThat(peer.readLine())
				.isEqualTo(transport(peer) + " /127.0.0.1:" + server.port() + " " + transport(peer) + " x");
		}
	}

	@Test
	void theHandlerIsToldTheAddressWhenTheConnectionIsOpened() {
		List<InetSocketAddress> opened = new ArrayList<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.proxyProtocol(LOOPBACK)
			.handler(new MessageHandler() {
				@Override
				public void onOpen(Connection connection) {
					synchronized (opened) {
						opened.add(connection.remoteAddress());
					}
					connection.send(Engine.bytes("hello"));
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
				}
			}));
		Peer peer = this.engine.connect(server);
		Engine.eventually().until(() -> server.snapshot().acceptedConnections() == 1);
		peer.send(V1, 0, V1.length - 1);
		// All but the last byte of the header does not open the connection.
		peer.send(V1, V1.length - 1, 1);
		assertThat(peer.readLine()).isEqualTo("hello");
		synchronized (opened) {
			assertThat(opened).containsExactly(new InetSocketAddress("203.0.113.9", 40000));
		}
	}

	@Test
	void everySplit() {
		TcpServer server = start();
		for (byte[] header : List.of(V1, ProxyHeaders.v2Ipv4(ProxyHeaders.tlv(4, new byte[5])))) {
			byte[] all = with(header, "x\ny\n");
			for (int split = 1; split < all.length; split++) {
				try (Peer peer = this.engine.connect(server)) {
					peer.send(all, 0, split).send(all, split, all.length - split);
					assertThat(peer.readLine()).startsWith(ADDRESSES).endsWith(" x");
					assertThat(peer.readLine()).startsWith(ADDRESSES).endsWith(" y");
				}
			}
		}
	}

	@Test
	void byteByByte() {
		TcpServer server = start();
		Peer peer = this.engine.connect(server);
		for (byte b : with(V1, "x\n")) {
			peer.send(new byte[] { b });
		}
		assertThat(peer.readLine()).startsWith(ADDRESSES).endsWith(" x");
	}

	@ParameterizedTest
	@ValueSource(strings = { "hello\n", "GET / HTTP/1.1\r\n\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\nsecret\n",
			"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\nsecret\n", "\u0016\u0003\u0001" })
	void withoutAValidHeaderTheHandlerIsNotCalled(String input) {
		TcpServer server = start();
		this.engine.connect(server).send(input).awaitClosed();
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED, 1);
		assertThat(this.recorder.connections).isEmpty();
		assertThat(this.engine.log()).singleElement()
			.asString()
			.startsWith("WARN Connection 1 of server 'default' from 127.0.0.1 was not established: "
					+ "the header of the PROXY protocol is not valid: ")
			.doesNotContain("secret");
	}

	@Test
	void aHeaderThatEndsInTheMiddleIsLogged() {
		TcpServer server = start();
		this.engine.connect(server).send(V1, 0, 20).close();
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED, 1);
		assertThat(this.engine.log()).singleElement()
			.asString()
			.contains("the peer closed before the header of the PROXY protocol was complete");
	}

	@Test
	void manyConnectionsWithoutAValidHeaderAreCountedAndLoggedOnce() {
		TcpServer server = start();
		for (int i = 0; i < 50; i++) {
			this.engine.connect(server).send("hello\n").awaitClosed();
		}
		awaitClosed(server, CloseReason.HANDSHAKE_FAILED, 50);
		assertThat(this.engine.log()).hasSizeBetween(1, 5);
		assertThat(this.recorder.connections).isEmpty();
	}

	@Test
	void aHeaderThatComesTooSlowlyIsNotWaitedFor() {
		TcpServer server = this.engine
			.start(builder().proxyProtocol(LOOPBACK).handshakeTimeout(Duration.ofMillis(700)));
		Peer silent = this.engine.connect(server);
		Peer slow = this.engine.connect(server);
		// Sends one byte after the other, for much longer than the timeout; by then the
		// server has closed, even if it was late to accept.
		byte[] header = ProxyHeaders.v2Ipv4(ProxyHeaders.tlv(4, new byte[400]));
		Thread drip = new Thread(() -> {
			try {
				for (byte b : header) {
					slow.send(new byte[] { b });
					Engine.elapse(Duration.ofMillis(50));
				}
			}
			catch (RuntimeException ex) {
				// closed
			}
		});
		drip.start();
		silent.awaitClosed();
		slow.awaitClosed();
		awaitClosed(server, CloseReason.HANDSHAKE_TIMEOUT, 2);
		assertThat(this.recorder.connections).isEmpty();
		Engine.eventually().until(() -> !drip.isAlive());
	}

	@Test
	void aConnectionIsNotHurriedByTheHandshakeTimeoutAfterItsHeader() {
		TcpServer server = this.engine.start(builder().proxyProtocol(LOOPBACK).handshakeTimeout(Duration.ofSeconds(2)));
		Peer peer = this.engine.connect(server).send(V1);
		this.recorder.await(1);
		Engine.elapse(Duration.ofSeconds(3));
		assertThat(peer.send("x\n").readLine()).endsWith(" x");
	}

	@Test
	void healthChecksAreNotLogged() throws Exception {
		TcpServer server = start();
		this.engine.connect(server).close();
		this.engine.connect(server).reset();
		awaitClosed(server, CloseReason.PEER, 2);
		assertThat(this.recorder.connections).isEmpty();
		this.engine.connect(server).send(ProxyHeaders.v2Local()).close();
		this.engine.connect(server).send(ProxyHeaders.v1("PROXY UNKNOWN")).close();
		awaitClosed(server, CloseReason.PEER, 4);
		this.engine.connect(server).send(ProxyHeaders.v2Local()).reset();
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	void anotherNetworkIsTurnedAway() {
		TcpServer server = this.engine.start(builder().proxyProtocol(ELSEWHERE));
		for (int i = 0; i < 20; i++) {
			this.engine.connect(server).awaitClosed();
		}
		assertThat(server.snapshot().rejectedConnections()).isEqualTo(20);
		assertThat(server.snapshot().acceptedConnections()).isZero();
		assertThat(this.recorder.connections).isEmpty();
		assertThat(this.engine.log()).filteredOn((line) -> line.contains("rejected a connection from 127.0.0.1"))
			.hasSizeBetween(1, 3)
			.first()
			.asString()
			.contains("[192.0.2.0/24]");
	}

	@Test
	void aDirectClientCannotPretendToBeAnother() {
		TcpServer server = this.engine.start(builder().proxyProtocol(ELSEWHERE).directClients(true));
		Peer peer = this.engine.connect(server).send(with(V1, "x\n"));
		String own = transport(peer) + " /127.0.0.1:" + server.port() + " " + transport(peer) + " ";
		assertThat(peer.readLine()).isEqualTo(own + "PROXY TCP4 203.0.113.9 198.51.100.1 40000 443");
		assertThat(peer.readLine()).isEqualTo(own + "x");
	}

	@Test
	void aSecondHeaderIsInput() {
		TcpServer server = start();
		Peer peer = this.engine.connect(server).send(with(V1, "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nx\n"));
		assertThat(peer.readLine())
			.isEqualTo(ADDRESSES + " " + transport(peer) + " PROXY TCP4 192.0.2.1 192.0.2.2 1 2");
		assertThat(peer.readLine()).isEqualTo(ADDRESSES + " " + transport(peer) + " x");
	}

	@Test
	void withoutTrustedNetworksAHeaderIsInput() {
		TcpServer server = this.engine.start(builder());
		Peer peer = this.engine.connect(server).send(V1);
		assertThat(peer.readLine()).startsWith(transport(peer)).endsWith(" 40000 443");
	}

	@Test
	void trustedIpv6Proxy() throws Exception {
		InetAddress loopback6 = InetAddress.getByName("::1");
		assumeThat(hasIpv6()).as("there is IPv6").isTrue();
		TcpServer server = builder().proxyProtocol(TrustedNetworks.of("::1/128")).address(loopback6).port(0).build();
		server.start();
		try (Peer peer = new Peer(new InetSocketAddress(loopback6, server.port()), 0)) {
			peer.send(with(V1, "x\n"));
			assertThat(peer.readLine()).startsWith(ADDRESSES + " /[0:0:0:0:0:0:0:1]:").endsWith(" x");
		}
	}

	private static boolean hasIpv6() {
		try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName("::1"))) {
			return socket.isBound();
		}
		catch (IOException ex) {
			return false;
		}
	}

	@Test
	void aDrainDoesNotWaitForHeadersThatHaveNotCome() {
		TcpServer server = start();
		Peer silent = this.engine.connect(server);
		Peer begun = this.engine.connect(server).send(V1, 0, 10);
		Engine.eventually().until(() -> server.snapshot().acceptedConnections() == 2);
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		silent.awaitClosed();
		begun.awaitClosed();
	}

	@Test
	void connectionsWhoseHeadersDoNotComeKeepNoThreadAndDoNotSpin() {
		TcpServer server = start();
		byte[] header = ProxyHeaders.v2Ipv4(ProxyHeaders.tlv(4, new byte[1000]));
		for (int i = 0; i < 100; i++) {
			this.engine.connect(server).send(header, 0, i * 10);
		}
		Engine.eventually().until(() -> server.snapshot().openConnections() == 100);
		Engine.awaitIdle(server.pool());
		long before = cpuNanos(server.pool());
		Engine.elapse(Duration.ofMillis(500));
		assertThat(cpuNanos(server.pool()) - before).isLessThan(50_000_000);
		assertThat(server.snapshot().openConnections()).isEqualTo(100);
	}

	private static long cpuNanos(LeaderFollowersPool pool) {
		List<String> names = Engine.threadsOf(pool);
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		return Arrays.stream(threads.dumpAllThreads(false, false))
			.filter((thread) -> names.contains(thread.getThreadName()))
			.mapToLong((thread) -> threads.getThreadCpuTime(thread.getThreadId()))
			.sum();
	}

	@Test
	void randomInputsNeitherSpinNorLeak() {
		int connections = 10_000;
		AtomicInteger opened = new AtomicInteger();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.raw())
			.proxyProtocol(LOOPBACK)
			.handler(new MessageHandler() {
				@Override
				public void onOpen(Connection connection) {
					opened.incrementAndGet();
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
				}
			}));
		Random random = new Random(42);
		byte[][] seeds = { V1, ProxyHeaders.v2Ipv4(ProxyHeaders.tlv(4, new byte[30])), ProxyHeaders.v2Ipv6(),
				ProxyHeaders.v2Local(), new byte[50] };
		long descriptors = Engine.descriptors();
		for (int i = 0; i < connections; i++) {
			byte[] input = seeds[random.nextInt(seeds.length)].clone();
			for (int j = random.nextInt(4); j > 0; j--) {
				input[random.nextInt(input.length)] = (byte) random.nextInt();
			}
			if (random.nextBoolean()) {
				input = Arrays.copyOf(input, random.nextInt(input.length + 1));
			}
			try (Peer peer = new Peer(server.address(), 0)) {
				peer.send(input);
			}
			catch (IOException ex) {
				throw new AssertionError("Could not connect", ex);
			}
		}
		Engine.eventually()
			.until(() -> server.snapshot().acceptedConnections() == connections
					&& server.snapshot().openConnections() == 0);
		long closed = server.snapshot().closedConnections().values().stream().mapToLong(Long::longValue).sum();
		assertThat(closed).isEqualTo(connections);
		assertThat(server.snapshot().closedConnections().get(CloseReason.HANDSHAKE_FAILED)).isGreaterThan(1000);
		assertThat(opened).hasValueGreaterThan(1000).hasValueLessThan(connections);
		Engine.awaitIdle(server.pool());
		Engine.eventually().until(() -> Engine.descriptors() <= descriptors + 2);
		assertThat(server.pool().snapshot().bufferedBytes()).isZero();
	}

}
