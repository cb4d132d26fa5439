package org.leaderfollowers.spring.autoconfigure;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.ClientTls;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.TcpServer;

import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link ClientProperties} and their mapping, including the text that a user
 * sees.
 */
@ExtendWith(OutputCaptureExtension.class)
class ClientPropertiesTests {

	private static final String ADDRESS = "lf.clients.ledger.addresses=127.0.0.1:1";

	private static final String IN_ORDER = "lf.clients.ledger.correlation.type=in-order";

	@TempDir
	private Path directory;

	private static TcpClient.Builder map(LeaderFollowersPool pool, String... properties) {
		return new ClientPropertiesMapper(TestProperties.bind("lf.clients.ledger", ClientProperties.class, properties),
				new StaticListableBeanFactory())
			.map("ledger", pool);
	}

	@Test
	void defaultsAreThoseOfTheEngine() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder().build();
		assertThat(map(pool, "addresses=localhost:1", "correlation.type=in-order")).usingRecursiveComparison()
			.ignoringFields("pool", "idempotent")
			.isEqualTo(TcpClient.builder(pool)
				.name("ledger")
				.address("localhost", 1)
				.framing(Framing.line())
				.correlation(Correlation.inOrder()));
		pool.close();
	}

	@Test
	void everyPropertyReachesTheEngine() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder().build();
		TcpClient.Builder builder = map(pool, "addresses=one.example:1, [::1]:2", "connections=3", "framing.type=raw",
				"correlation.type=stamped", "correlation.offset=1", "correlation.length=2", "request-timeout=4s",
				"place-timeout=5s", "connect-timeout=6s", "max-in-flight=7", "backoff.min=8ms", "backoff.max=9s",
				"heartbeat.interval=10s", "heartbeat.request=0x0102", "idempotent=true", "max-message-size=11KB",
				"max-outbound-size=12KB", "message-timeout=13s", "write-timeout=14s", "tcp-no-delay=false",
				"keep-alive=false", "receive-buffer-size=15KB", "send-buffer-size=16KB");
		assertThat(builder).hasFieldOrPropertyWithValue("connections", 3)
			.hasFieldOrPropertyWithValue("framing", Framing.raw())
			.hasFieldOrPropertyWithValue("requestTimeout", Duration.ofSeconds(4))
			.hasFieldOrPropertyWithValue("placeTimeout", Duration.ofSeconds(5))
			.hasFieldOrPropertyWithValue("connectTimeout", Duration.ofSeconds(6))
			.hasFieldOrPropertyWithValue("maxInFlight", 7)
			.hasFieldOrPropertyWithValue("minBackoff", Duration.ofMillis(8))
			.hasFieldOrPropertyWithValue("maxBackoff", Duration.ofSeconds(9))
			.hasFieldOrPropertyWithValue("heartbeatInterval", Duration.ofSeconds(10))
			.hasFieldOrPropertyWithValue("maxMessageSize", 11 * 1024)
			.hasFieldOrPropertyWithValue("maxOutboundSize", 12 * 1024)
			.hasFieldOrPropertyWithValue("messageTimeout", Duration.ofSeconds(13))
			.hasFieldOrPropertyWithValue("writeTimeout", Duration.ofSeconds(14))
			.hasFieldOrPropertyWithValue("tcpNoDelay", false)
			.hasFieldOrPropertyWithValue("keepAlive", false)
			.hasFieldOrPropertyWithValue("receiveBufferSize", 15 * 1024)
			.hasFieldOrPropertyWithValue("sendBufferSize", 16 * 1024);
		assertThat(builder).extracting("heartbeat")
			.isInstanceOfSatisfying(Supplier.class,
					(request) -> assertThat(request.get()).isEqualTo(ByteBuffer.wrap(new byte[] { 1, 2 })));
		assertThat(builder).extracting("idempotent", InstanceOfAssertFactories.predicate(ByteBuffer.class))
			.accepts(ByteBuffer.allocate(1));
		assertThat(builder).extracting("addresses")
			.asInstanceOf(InstanceOfAssertFactories.list(InetSocketAddress.class))
			.containsExactly(InetSocketAddress.createUnresolved("one.example", 1),
					InetSocketAddress.createUnresolved("::1", 2));
		assertThat(builder).extracting("correlation").hasToString("stamped");
		assertThat(builder).extracting("correlation").hasFieldOrPropertyWithValue("offset", 1);
		assertThat(map(pool, "addresses=localhost:1", "correlation.type=in-order", "keep-alive=false"))
			.hasFieldOrPropertyWithValue("tcpNoDelay", true)
			.hasFieldOrPropertyWithValue("keepAlive", false);
		pool.close();
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"',
			textBlock = """
					addresses           | localhost   | 'localhost' must be a host and a port from 1 to 65535
					addresses           | ::1:80      | '::1:80' must be a host and a port from 1 to 65535
					addresses           | localhost:0 | 'localhost:0' must be a host and a port from 1 to 65535
					connections         | 0           | Must be from 1 to 1024.
					max-in-flight       | 0           | Must be from 1 to 1048576.
					request-timeout     | 0s          | Must be more than 0.
					place-timeout       | -1s         | Must not be negative.
					connect-timeout     | 0s          | Must be more than 0.
					backoff.min         | 0ms         | Must be at least 1ms.
					backoff.max         | 1ms         | Must not be less than 'lf.clients.ledger.backoff.min', which is 100ms.
					heartbeat.interval  | 1s          | A value is required, because 'lf.clients.ledger.heartbeat.interval' is set.
					heartbeat.request   | PING        | A value is required, because 'lf.clients.ledger.heartbeat.request' is set.
					max-message-size    | 0           | Must be from 1 to 1073741824 bytes.
					max-outbound-size   | 1B          | Must be from 1024 to 1073741824 bytes.
					message-timeout     | -1s         | Must not be negative.
					write-timeout       | -1s         | Must not be negative.
					receive-buffer-size | 1023B       | Must be from 1024 to 1073741824 bytes.
					send-buffer-size    | 2GB         | Must be from 1024 to 1073741824 bytes.
					framing.length      | 5           | Is used only if 'lf.clients.ledger.framing.type' is 'fixed-length'.
					correlation.length  | 5           | Is used only if 'lf.clients.ledger.correlation.type' is 'stamped'.
					correlation.offset  | 5           | Is used only if 'lf.clients.ledger.correlation.type' is 'stamped'.
					correlation.type    | stamped     | A value is required, because 'lf.clients.ledger.correlation.type' is 'stamped'.
							correlation.bean    | keys        | Is not used, because 'lf.clients.ledger.correlation.bean' names
					addresses           |             | An address is required
					pool                | fast        | The property 'lf.clients.ledger.pool' names the pool 'fast', but there is no such pool.
					ssl.bundle          | web         | The property 'lf.clients.ledger.ssl.bundle' names the SSL bundle 'web', but there is no
					ssl.verify-hostname | false       | Is used only if 'lf.clients.ledger.ssl.bundle' is set.
					""")
	void whatIsWrongIsSaid(String property, String value, String reason, CapturedOutput output) {
		Map<String, String> properties = new LinkedHashMap<>(
				Map.of("addresses", "127.0.0.1:1", "correlation.type", "in-order"));
		properties.put(property, (value != null) ? value : "");
		FailingApplication.run(Nothing.class,
				properties.entrySet()
					.stream()
					.map((entry) -> "lf.clients.ledger.%s=%s".formatted(entry.getKey(), entry.getValue()))
					.toArray(String[]::new));
		assertThat(output).contains("APPLICATION FAILED TO START", reason);
	}

	@ParameterizedTest
	@CsvSource({ "9, 0, length, Must be from 1 to 8.", "4, -1, offset, Must not be negative." })
	void aStampThatIsNotPossibleIsRefused(int length, int offset, String property, String reason,
			CapturedOutput output) {
		String prefix = "lf.clients.ledger.correlation.";
		FailingApplication.run(Nothing.class, ADDRESS, prefix + "type=stamped", prefix + "length=" + length,
				prefix + "offset=" + offset);
		assertThat(output).contains("configuration property '" + prefix + property + "'", reason);
	}

	/** The threads of several connections may send heartbeats at the same time. */
	@Test
	void eachHeartbeatHasABufferOfItsOwn() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder().build();
		TcpClient.Builder builder = map(pool, "addresses=localhost:1", "correlation.type=in-order",
				"heartbeat.interval=10s", "heartbeat.request=0x0102");
		assertThat(builder).extracting("heartbeat", InstanceOfAssertFactories.type(Supplier.class))
			.satisfies((request) -> assertThat(request.get()).isEqualTo(request.get()).isNotSameAs(request.get()));
		pool.close();
	}

	@Test
	void aCorrelationIsRequired(CapturedOutput output) {
		FailingApplication.run(Nothing.class, ADDRESS);
		assertThat(output).contains("configuration property 'lf.clients.ledger.correlation.type'",
				"A value is required: 'in-order' if replies come in the order of the requests");
	}

	@ParameterizedTest
	@CsvSource({ "1500us, PT0.0015S", "106751991168d, PT2562047788032H" })
	void aBackoffThatIsNoNumberOfMillisecondsIsShown(String min, String shown, CapturedOutput output) {
		FailingApplication.run(Nothing.class, ADDRESS, IN_ORDER, "lf.clients.ledger.backoff.min=" + min,
				"lf.clients.ledger.backoff.max=1ms");
		assertThat(output).contains("configuration property 'lf.clients.ledger.backoff.max'",
				"Must not be less than 'lf.clients.ledger.backoff.min', which is %s.".formatted(shown));
	}

	/** It would keep a processor and the network busy. */
	@Test
	void heartbeatsAreAtLeastAMillisecondApart(CapturedOutput output) {
		FailingApplication.run(Nothing.class, ADDRESS, IN_ORDER, "lf.clients.ledger.heartbeat.interval=999us",
				"lf.clients.ledger.heartbeat.request=PING");
		assertThat(output).contains("lf.clients.ledger.heartbeat.interval", "Must be at least 1ms.");
	}

	@Test
	void aFixedLengthMustFitIntoAMessage(CapturedOutput output) {
		FailingApplication.run(Nothing.class, ADDRESS, IN_ORDER, "lf.clients.ledger.framing.type=fixed-length",
				"lf.clients.ledger.framing.length=2000", "lf.clients.ledger.max-message-size=1KB");
		assertThat(output).contains("Must not be greater than 'lf.clients.ledger.max-message-size'");
	}

	@Test
	void correlationsThatAreBeansAreUsed(CapturedOutput output) {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withUserConfiguration(Keys.class)
			.withPropertyValues(ADDRESS, "lf.clients.ledger.correlation.bean=keys")
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(TcpClient.class));
		FailingApplication.run(Keys.class, ADDRESS, "lf.clients.ledger.correlation.bean=kays");
		assertThat(output).contains(
				"The property 'lf.clients.ledger.correlation.bean' names the correlation bean 'kays', but there is no such correlation bean. Known correlation beans: keys.",
				"Did you mean 'keys'?", "by 'lf.clients.ledger.correlation.type'");
	}

	@Test
	void aClientSpeaksTlsAndFollowsItsBundle(CapturedOutput output) throws Exception {
		TestCertificate first = TestCertificate.create(this.directory, "first");
		TestCertificate second = TestCertificate.create(this.directory, "second");
		Path trusted = this.directory.resolve("trusted.crt");
		Files.writeString(trusted, first.certificatePem());
		Queue<Connection> open = new ConcurrentLinkedQueue<>();
		LeaderFollowersPool pool = LeaderFollowersPool.builder().name("peer").build();
		try (pool;
				TcpServer server = TcpServer.builder(pool)
					.name("peer")
					.port(0)
					.framing(Framing.line())
					.tls(ServerTls.of(TestCertificate.client(first)))
					.handler((connection, message) -> {
						open.add(connection);
						connection.send(message);
					})
					.build()) {
			server.start();
			new ApplicationContextRunner()
				.withConfiguration(
						AutoConfigurations.of(SslAutoConfiguration.class, LeaderFollowersAutoConfiguration.class))
				.withPropertyValues("lf.clients.ledger.addresses=localhost:" + server.port(), IN_ORDER,
						"lf.clients.ledger.backoff.max=100ms", "lf.clients.ledger.request-timeout=60s",
						"lf.clients.ledger.ssl.bundle=peers",
						"spring.ssl.bundle.pem.peers.truststore.certificate=" + trusted,
						"spring.ssl.bundle.pem.peers.reload-on-update=true",
						"spring.ssl.bundle.watch.file.quiet-period=200ms")
				.run((context) -> {
					assertThat(context).hasNotFailed();
					TcpClient client = context.getBean(TcpClient.class);
					ByteBuffer request = ByteBuffer.wrap(new byte[] { 'x' });
					assertThat(client.exchange(request)).isEqualTo(request);
					// The garbage collector must not remove the listener for updates of
					// the bundle.
					System.gc();
					server.tls(ServerTls.of(TestCertificate.client(second)));
					Files.writeString(trusted, second.certificatePem());
					Awaitility.await()
						.untilAsserted(() -> assertThat(output)
							.contains("Client 'ledger' now uses the updated SSL bundle 'peers'. "));
					open.forEach(Connection::close);
					Awaitility.await().until(() -> client.snapshot().disconnects() == 1);
					assertThat(client.exchange(request)).isEqualTo(request);
				});
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "ssl.enabled=true", "ssl.bundle=peers" })
	void theNameOfTheHostNeedNotBeVerified(String tls) {
		assertThat(tls(SslOptions.NONE, tls, "ssl.verify-hostname=false"))
			.hasFieldOrPropertyWithValue("verifiesHostname", false);
		assertThat(tls(SslOptions.NONE, tls)).hasFieldOrPropertyWithValue("verifiesHostname", true);
	}

	@Test
	void theOptionsOfABundleReachTheEngine() {
		SslOptions options = SslOptions.of(Set.of("TLS_AES_128_GCM_SHA256"), Set.of("TLSv1.3"));
		assertThat(tls(options, "ssl.bundle=peers")).hasFieldOrPropertyWithValue("protocols", List.of("TLSv1.3"))
			.hasFieldOrPropertyWithValue("cipherSuites", List.of("TLS_AES_128_GCM_SHA256"));
	}

	/** The name of the host would no longer be verified after the first renewal. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aBundleThatIsReloadedIsUsedWithTheSameOptions(boolean verifies) {
		DefaultSslBundleRegistry bundles = new DefaultSslBundleRegistry("peers", SslBundle.of(null));
		String[] properties = { "addresses=localhost:1", "correlation.type=in-order", "ssl.bundle=peers",
				"ssl.verify-hostname=" + verifies };
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build();
				TcpClient client = SslPropertiesMapper.of(bundles)
					.buildClient(TestProperties.bind("lf.clients.ledger", ClientProperties.class, properties),
							map(pool, properties))) {
			AtomicReference<?> tls = (AtomicReference<?>) ReflectionTestUtils.getField(client, "tls");
			Object first = tls.get();
			bundles.updateBundle("peers", SslBundle.of(null, null, SslOptions.of(null, Set.of("TLSv1.3"))));
			assertThat(tls.get()).isNotSameAs(first)
				.hasFieldOrPropertyWithValue("verifiesHostname", verifies)
				.hasFieldOrPropertyWithValue("protocols", List.of("TLSv1.3"));
		}
	}

	@Test
	void aBundleThatAClientCannotUseIsNamed() {
		assertThatExceptionOfType(InvalidConfigurationPropertyValueException.class)
			.isThrownBy(() -> tls(SslOptions.of(null, Set.of("TLSv1.9")), "ssl.bundle=peers"))
			.withMessageContaining("lf.clients.ledger.ssl.bundle")
			.withMessageContaining("The SSL bundle 'peers' cannot be used: 'protocols' must be supported");
	}

	private static ClientTls tls(SslOptions options, String... properties) {
		String[] all = Stream
			.concat(Stream.of("addresses=localhost:1", "correlation.type=in-order"), Stream.of(properties))
			.toArray(String[]::new);
		SslBundles bundles = new DefaultSslBundleRegistry("peers", SslBundle.of(null, null, options));
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			TcpClient.Builder builder = map(pool, all);
			SslPropertiesMapper.of(bundles)
				.buildClient(TestProperties.bind("lf.clients.ledger", ClientProperties.class, all), builder)
				.close();
			return (ClientTls) ReflectionTestUtils.getField(builder, "tls");
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Nothing {

	}

	@Configuration(proxyBeanMethods = false)
	static class Keys {

		@Bean
		Correlation keys() {
			return Correlation.byKey((message) -> message.get(message.position()));
		}

	}

}
