package org.leaderfollowers.spring.autoconfigure;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpoint;
import org.leaderfollowers.spring.actuate.ServerDescriptor;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnDrain;
import org.leaderfollowers.spring.annotation.OnIdle;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.UdpServerBuilderCustomizer;

import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for servers with the transport 'udp'.
 */
@ExtendWith(OutputCaptureExtension.class)
class UdpServerTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
		.withUserConfiguration(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class)
		.withPropertyValues("lf.server.port=0", "lf.server.address=127.0.0.1", "lf.server.transport=udp");

	@Test
	void theSameHandlerServesDatagrams(CapturedOutput output) {
		this.contextRunner.run((context) -> {
			assertThat(ask(context, "hello")).isEqualTo("hello");
			ServerSnapshot server = server(context);
			assertThat(server.transport()).isEqualTo(TransportType.UDP);
			assertThat(server.handler()).isEqualTo("echo");
			assertThat(output)
				.contains("Server 'default' started on UDP port %d of 127.0.0.1 (handler 'echo', pool 'default')"
					.formatted(server.port()));
			assertThat(context.getEnvironment().getProperty("local.lf.server.port", Integer.class))
				.isEqualTo(server.port());
		});
	}

	@Test
	void methodsServeDatagrams() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withBean(Shouting.class)
			.withPropertyValues("lf.server.port=0", "lf.server.address=127.0.0.1", "lf.server.transport=udp")
			.run((context) -> {
				assertThat(ask(context, "hello")).isEqualTo("HELLO");
				assertThat(ask(context, "fail")).isEqualTo("failed");
				assertThat(ask(context, "later")).isEqualTo("LATER");
				Awaitility.await()
					.untilAsserted(
							() -> assertThat(server(context).datagrams()).extracting(ServerSnapshot.Datagrams::inFlight)
								.isEqualTo(0));
			});
	}

	@Test
	void defaultsAreThoseOfTheEngine() {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			assertThat(builder(pool, "transport=udp")).usingRecursiveComparison()
				.ignoringFields("pool")
				.isEqualTo(UdpServer.builder(pool));
		}
	}

	@Test
	void everyPropertyReachesTheEngine() {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			assertThat(builder(pool, "transport=udp", "port=1234", "address=127.0.0.1", "max-message-size=1KB",
					"udp.max-in-flight=5", "udp.max-reply-ratio=10", "udp.max-reply-rate=9",
					"udp.suspension-timeout=6s", "udp.receive-buffer-size=7KB", "udp.send-buffer-size=8KB"))
				.hasFieldOrPropertyWithValue("port", 1234)
				.hasFieldOrPropertyWithValue("maxMessageSize", 1024)
				.hasFieldOrPropertyWithValue("maxInFlight", 5)
				.hasFieldOrPropertyWithValue("maxReplyRatio", 10)
				.hasFieldOrPropertyWithValue("maxReplyRate", 9)
				.hasFieldOrPropertyWithValue("suspensionTimeout", Duration.ofSeconds(6))
				.hasFieldOrPropertyWithValue("receiveBufferSize", 7 * 1024)
				.hasFieldOrPropertyWithValue("sendBufferSize", 8 * 1024);
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			framing.type               | raw
			framing.bean               | mine
			framing.delimiter          | ;
			framing.length             | 5
			framing.length-field.bytes | 2
			framing.decimal-length.digits | 4
			framing.enclosed.start     | 0x02
			ssl.enabled                | true
			ssl.bundle                 | mine
			ssl.client-auth            | need
			ssl.max-handshakes         | 5
			ssl.max-handshake-rate     | 5
			skip-oversized-messages    | true
			min-read-rate              | 5B
			min-write-rate             | 5B
			max-in-flight-per-connection | 5
			message-order              | mine
			reply-order                | arrival
			correlation.type           | in-order
			correlation.bean           | mine
			correlation.offset         | 5
			correlation.length         | 5
			max-exchanges              | 5
			service-classes            | default
			per-client.max-connections | 5
			per-client.connections-per-second | 5
			per-client.failed-logins-per-minute | 5
			max-connections            | 5
			max-outbound-size          | 5KB
			idle-timeout               | 5s
			message-timeout            | 5s
			write-timeout              | 5s
			handshake-timeout          | 5s
			login-timeout              | 5s
			read-idle                  | 5s
			write-idle                 | 5s
			backlog                    | 5
			tcp-no-delay               | false
			keep-alive                 | false
			receive-buffer-size        | 5KB
			send-buffer-size           | 5KB
			proxy-protocol.trusted-networks | 10.0.0.0/8
			proxy-protocol.direct-clients   | true
			""")
	void propertiesOfConnectionsAreRefused(String property, String value, CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class, "lf.server.transport=udp",
				"lf.server." + property + "=" + value);
		assertThat(output).contains("APPLICATION FAILED TO START",
				"for configuration property 'lf.server.%s'"
					.formatted(property.replaceFirst("\\.(bytes|digits|start)$", "")),
				"Is used only if 'lf.server.transport' is 'tcp'.");
	}

	@Test
	void limitsOfDatagramsCloseNothing(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class, "lf.server.transport=udp",
				"lf.server.per-client.messages-per-second=5", "lf.server.per-client.action=close");
		assertThat(output).contains("APPLICATION FAILED TO START",
				"for configuration property 'lf.server.per-client.action'",
				"Is used only if 'lf.server.transport' is 'tcp'.");
	}

	@Test
	void methodsThatWouldNeverBeCalledFailTheStart(CapturedOutput output) {
		FailingApplication.run(Connected.class, "lf.server.transport=udp");
		assertThat(output).contains("APPLICATION FAILED TO START", "Method opened() would never be called",
				"Method closed() would never be called", "Method draining() would never be called",
				"Method idle() would never be called",
				"would never be called: the server is for datagrams, which have no connections",
				"Remove the method, or serve another server with it.");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			udp.max-in-flight       | 5
			udp.max-reply-ratio     | 5
			udp.max-reply-rate      | 5
			udp.suspension-timeout  | 5s
			udp.receive-buffer-size | 5KB
			udp.send-buffer-size    | 5KB
			""")
	void propertiesOfDatagramsAreRefusedForConnections(String property, String value, CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
				"lf.server." + property + "=" + value);
		assertThat(output).contains("APPLICATION FAILED TO START",
				"for configuration property 'lf.server.%s'".formatted(property),
				"Is used only if 'lf.server.transport' is 'udp'.");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			max-message-size        | 65KB  | Must be from 1 to 65536 bytes.
			udp.max-in-flight       | 0     | Must be at least 1.
			udp.max-reply-ratio     | 10001 | Must be from 0 to 10000.
			udp.max-reply-rate      | -1    | Must be from 0 to 1000000.
			udp.suspension-timeout  | -1s   | Must not be negative.
			udp.receive-buffer-size | 1B    | Must be from 1024 to 1073741824 bytes.
			udp.send-buffer-size    | 2GB   | Must be from 1024 to 1073741824 bytes.
			""")
	void outOfRange(String property, String value, String reason, CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class, "lf.server.transport=udp",
				"lf.server." + property + "=" + value);
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("Invalid value '%s' for configuration property 'lf.server.%s'".formatted(value, property))
			.contains(reason);
	}

	@Test
	void aPortInUseIsToldAsForConnections(CapturedOutput output) throws IOException {
		try (DatagramSocket other = new DatagramSocket(0, InetAddress.getByName("127.0.0.1"))) {
			FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
					"lf.server.transport=udp", "lf.server.address=127.0.0.1", "lf.server.port=" + other.getLocalPort());
			assertThat(output).contains("APPLICATION FAILED TO START",
					"port %d is already in use".formatted(other.getLocalPort()));
		}
	}

	@Test
	void customizersChangeTheBuilder() {
		this.contextRunner
			.withBean(UdpServerBuilderCustomizer.class, () -> (server, builder) -> builder.handlerName("of " + server))
			.run((context) -> assertThat(server(context).handler()).isEqualTo("of default"));
	}

	@Test
	void metersAndEndpointTellOfDatagrams() {
		this.contextRunner.withPropertyValues("lf.server.max-message-size=10B").run((context) -> {
			MeterRegistry registry = new SimpleMeterRegistry();
			LeaderFollowersPools pools = context.getBean(LeaderFollowersPools.class);
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			ServerMetrics metrics = new ServerMetrics(servers, new ClientLimiters(null));
			metrics.bindTo(registry);
			try (DatagramSocket socket = new DatagramSocket()) {
				send(context, socket, "much too long");
			}
			assertThat(ask(context, "hello")).isEqualTo("hello");
			Awaitility.await().untilAsserted(() -> {
				assertThat(registry.get("lf.datagrams.rejected").tag("reason", "truncated").functionCounter().count())
					.isEqualTo(1);
				assertThat(registry.get("lf.datagrams.replies").tag("outcome", "sent").functionCounter().count())
					.isEqualTo(1);
				assertThat(registry.get("lf.datagrams").gauge().value()).isZero();
				assertThat(registry.get("lf.bytes").tag("direction", "sent").functionCounter().count()).isEqualTo(5);
				assertThat(registry.get("lf.handler.threads").tags("server", "default").gauge().value()).isZero();
			});
			assertThat(registry.find("lf.connections").meters()).isEmpty();
			assertThat(registry.find("lf.connections.max").meters()).isEmpty();
			assertThat(registry.get("lf.datagrams.max").gauge().value()).isEqualTo(1024);
			assertThat(registry.get("lf.server.accepting").gauge().value()).isEqualTo(1);
			assertThat(registry.getMeters()).map(Meter::getId)
				.filteredOn((id) -> id.getName().startsWith("lf.datagrams"))
				.hasSize(9)
				.allSatisfy((id) -> assertThat(id.getDescription()).isNotBlank());
			ServerDescriptor server = new LeaderFollowersEndpoint(null, pools, servers, new ClientLimiters(null),
					(caller) -> false, (name) -> List.of(), Duration.ZERO, context)
				.leaderFollowers()
				.servers()
				.get("default");
			assertThat(server.transport()).isEqualTo(TransportType.UDP);
			assertThat(server.connections()).isNull();
			assertThat(server.datagrams()).isNotNull();
			assertThat(server.datagrams().truncated()).isEqualTo(1);
			assertThat(server.datagrams().replies().sent()).isEqualTo(1);
			assertThat(server.messages().received()).isEqualTo(1);
			// The gauges only have a weak reference to this object.
			metrics.close();
		});
	}

	private static UdpServer.Builder builder(LeaderFollowersPool pool, String... properties) {
		return new ServerPropertiesMapper(TestProperties.bind("lf.server", Server.class, properties),
				new StaticListableBeanFactory())
			.mapUdp("default", pool);
	}

	private static ServerSnapshot server(AssertableApplicationContext context) {
		return context.getBean(LeaderFollowersServers.class).get("default").snapshot();
	}

	private static void send(AssertableApplicationContext context, DatagramSocket socket, String text)
			throws IOException {
		byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
		socket
			.send(new DatagramPacket(bytes, bytes.length, InetAddress.getByName("127.0.0.1"), server(context).port()));
	}

	private static String ask(AssertableApplicationContext context, String text) throws IOException {
		try (DatagramSocket socket = new DatagramSocket()) {
			socket.setSoTimeout(20_000);
			send(context, socket, text);
			DatagramPacket packet = new DatagramPacket(new byte[100], 100);
			socket.receive(packet);
			return new String(packet.getData(), 0, packet.getLength(), StandardCharsets.US_ASCII);
		}
	}

	@LfHandler
	static class Shouting {

		@OnMessage
		CompletableFuture<String> shout(String text) {
			return switch (text) {
				case "fail" -> throw new IllegalStateException("failed");
				case "later" -> CompletableFuture.supplyAsync(() -> "LATER");
				default -> CompletableFuture.completedFuture(text.toUpperCase(Locale.ROOT));
			};
		}

		@OnError
		String failed(IllegalStateException failure) {
			return "failed";
		}

	}

	@LfHandler
	static class Connected {

		@OnOpen
		void opened() {
		}

		@OnMessage
		String handle(String message) {
			return message;
		}

		@OnIdle
		void idle() {
		}

		@OnDrain
		void draining() {
		}

		@OnClose
		void closed() {
		}

	}

}
