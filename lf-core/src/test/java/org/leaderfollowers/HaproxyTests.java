package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * Servers behind a real HAProxy, if it is installed.
 */
@Timeout(120)
class HaproxyTests {

	private static final List<Path> PLACES = List.of(Path.of("/usr/sbin/haproxy"), Path.of("/usr/local/sbin/haproxy"));

	@RegisterExtension
	final Engine engine = new Engine();

	@TempDir
	Path directory;

	private final Recorder recorder = new Recorder() {
		@Override
		void message(Connection connection, ByteBuffer message) {
			connection.send(Engine
				.bytes(connection.remoteAddress() + " " + connection.localAddress() + " " + Engine.text(message)));
		}
	};

	private TcpServer server;

	private @Nullable Process haproxy;

	@BeforeEach
	void start() {
		assumeThat(executable()).as("HAProxy is installed").isNotNull();
		// A pool logs that all its threads are busy if this lasts longer than its lease.
		// On a busy machine, this may happen to any pool.
		this.server = this.engine.start(TcpServer
			.builder(this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).promotionLease(Engine.DEADLINE)))
			.framing(Framing.line())
			.handler(this.recorder)
			.proxyProtocol(TrustedNetworks.of("127.0.0.1", "::1")));
	}

	private static @Nullable Path executable() {
		return PLACES.stream().filter(Files::isExecutable).findFirst().orElse(null);
	}

	@AfterEach
	void stop() throws Exception {
		Process process = this.haproxy;
		if (process != null) {
			process.destroy();
			if (!process.waitFor(10, TimeUnit.SECONDS)) {
				process.destroyForcibly().waitFor();
			}
		}
	}

	/** Starts HAProxy, and waits until it listens. */
	private void haproxy(int port, String... configuration) throws IOException {
		List<String> lines = new ArrayList<>(List.of("global", "  maxconn 100", "defaults", "  mode tcp",
				"  timeout connect 5s", "  timeout client 60s", "  timeout server 60s"));
		lines.addAll(List.of(configuration));
		Path file = this.directory.resolve("haproxy.cfg");
		Files.write(file, lines);
		Path log = this.directory.resolve("haproxy.log");
		Process process = new ProcessBuilder(String.valueOf(executable()), "-db", "-f", file.toString())
			.redirectErrorStream(true)
			.redirectOutput(log.toFile())
			.start();
		this.haproxy = process;
		Engine.eventually().until(() -> {
			assertThat(process.isAlive()).as(() -> read(log)).isTrue();
			try (Peer probe = new Peer(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0)) {
				return true;
			}
			catch (IOException ex) {
				return false;
			}
		});
	}

	private static String read(Path log) {
		try {
			return Files.readString(log);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private String target() {
		return "server one 127.0.0.1:" + this.server.port() + " ";
	}

	private static Peer connect(String address, int port) throws IOException {
		return new Peer(new InetSocketAddress(address, port), 0);
	}

	@ParameterizedTest
	@ValueSource(strings = { "send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c,unique-id",
			"send-proxy-v2-ssl-cn" })
	void theClientsAddressComesThrough(String option) throws IOException {
		int port = FreePort.find();
		haproxy(port, "listen it", "  bind 127.0.0.1:" + port, "  unique-id-format %[uuid()]", target() + option);
		try (Peer peer = connect("127.0.0.1", port)) {
			String addresses = "/127.0.0.1:%d /127.0.0.1:%d ".formatted(peer.port(), port);
			assertThat(peer.send("a\nb\n").readLine()).isEqualTo(addresses + "a");
			assertThat(peer.readLine()).isEqualTo(addresses + "b");
			assertThat(peer.send("c\n").readLine()).isEqualTo(addresses + "c");
		}
		assertThat(this.engine.log()).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "send-proxy", "send-proxy-v2" })
	void theClientsIpv6AddressComesThrough(String option) throws IOException {
		assumeThat(Files.exists(Path.of("/proc/net/if_inet6"))
				&& read(Path.of("/proc/net/if_inet6")).contains("00000000000000000000000000000001"))
			.as("there is IPv6")
			.isTrue();
		int port = FreePort.find();
		haproxy(port, "listen it", "  bind :::" + port + " v4v6", target() + option);
		try (Peer peer = connect("::1", port)) {
			assertThat(peer.send("a\n").readLine())
				.isEqualTo("/[0:0:0:0:0:0:0:1]:%d /[0:0:0:0:0:0:0:1]:%d a".formatted(peer.port(), port));
		}
		// An IPv4 client of an IPv6 socket.
		try (Peer peer = connect("127.0.0.1", port)) {
			assertThat(peer.send("b\n").readLine())
				.isEqualTo("/127.0.0.1:%d /127.0.0.1:%d b".formatted(peer.port(), port));
		}
		assertThat(this.engine.log()).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "send-proxy check-send-proxy", "send-proxy-v2 check-send-proxy" })
	void healthChecksSucceedAndAreNotLogged(String option) throws IOException {
		int port = FreePort.find();
		int statistics = FreePort.find();
		haproxy(port, "listen it", "  bind 127.0.0.1:" + port, target() + option + " check inter 50", "listen asking",
				"  bind 127.0.0.1:" + FreePort.find(), "  option tcp-check", "  tcp-check connect send-proxy",
				"  tcp-check send-lf ping\\n", "  tcp-check expect string ping", target() + option + " check inter 50",
				"listen silent", "  bind 127.0.0.1:" + FreePort.find(), target() + "check inter 50",
				"listen statistics", "  mode http", "  stats enable", "  stats uri /",
				"  bind 127.0.0.1:" + statistics);
		Engine.eventually().until(() -> this.server.snapshot().acceptedConnections() > 60);
		Engine.eventually().untilAsserted(() -> {
			String report = report(statistics);
			assertThat(status(report, "it")).isEqualTo("UP L4OK");
			assertThat(status(report, "asking")).isEqualTo("UP L7OK");
			assertThat(status(report, "silent")).isEqualTo("UP L4OK");
		});
		assertThat(this.engine.log()).isEmpty();
		try (Peer peer = connect("127.0.0.1", port)) {
			assertThat(peer.send("a\n").readLine()).startsWith("/127.0.0.1:" + peer.port()).endsWith(" a");
		}
	}

	private static String report(int port) throws IOException {
		try (Peer peer = connect("127.0.0.1", port)) {
			return peer.send("GET /;csv HTTP/1.0\r\n\r\n").readTextToEnd();
		}
	}

	/** Returns the state that HAProxy reports for the server behind a listener. */
	private static String status(String report, String listener) {
		List<String> lines = report.lines().toList();
		String[] names = lines.stream().filter((line) -> line.startsWith("# ")).findFirst().orElseThrow().split(",");
		String[] values = lines.stream()
			.filter((line) -> line.startsWith(listener + ",one,"))
			.findFirst()
			.orElseThrow()
			.split(",");
		// A star says that a check is under way.
		String checked = values[List.of(names).indexOf("check_status")].replace("* ", "");
		return values[List.of(names).indexOf("status")] + " " + checked;
	}

	@Test
	void withoutTheOptionEveryConnectionIsRefusedAndTheLogSaysWhy() throws IOException {
		int port = FreePort.find();
		haproxy(port, "listen it", "  bind 127.0.0.1:" + port, target());
		try (Peer peer = connect("127.0.0.1", port)) {
			peer.send("a\n").awaitClosed();
		}
		assertThat(this.recorder.connections).isEmpty();
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log()).singleElement()
				.asString()
				.contains("the header of the PROXY protocol is not valid: there is none"));
	}

}
