package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteOrder;
import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.NestedDispatch;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PromotionOrder;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TrustedNetworks;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Pool;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LfProperties} and their mapping, including the text that a user sees.
 */
@ExtendWith(OutputCaptureExtension.class)
class LfPropertiesTests {

	private static final ListableBeanFactory NO_FRAMINGS = new StaticListableBeanFactory();

	@Test
	void defaultsOfAServerAreThoseOfTheEngine() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder().build();
		TcpServer.Builder mapped = new ServerPropertiesMapper(ConfiguredProperties.defaults("lf.server", Server.class),
				NO_FRAMINGS)
			.map("default", pool);
		assertThat(mapped).usingRecursiveComparison()
			.ignoringFields("pool")
			.isEqualTo(TcpServer.builder(pool).framing(Framing.line()));
		pool.close();
	}

	@Test
	void defaultsOfAPoolAreThoseOfTheEngine() {
		LeaderFollowersPool.Builder mapped = new PoolPropertiesMapper(
				ConfiguredProperties.defaults("lf.pool", Pool.class))
			.map("default", List.of());
		assertThat(mapped).usingRecursiveComparison().isEqualTo(LeaderFollowersPool.builder());
	}

	@Test
	void everyPropertyOfAServerReachesTheEngine() {
		TcpServer.Builder builder = server("port=1234", "address=127.0.0.1", "framing.type=raw", "max-message-size=1KB",
				"max-connections=2", "max-outbound-size=3KB", "idle-timeout=4s", "message-timeout=0",
				"write-timeout=5m", "min-read-rate=20B", "min-write-rate=30B", "backlog=6", "handshake-timeout=7s",
				"read-idle=8s", "write-idle=9s", "login-timeout=10s",
				"proxy-protocol.trusted-networks=10.0.0.0/8, fd00::/8", "proxy-protocol.direct-clients=true",
				"correlation.type=in-order", "max-exchanges=3", "tcp-no-delay=false", "keep-alive=false",
				"receive-buffer-size=11KB", "send-buffer-size=12KB");
		assertThat(builder).hasFieldOrPropertyWithValue("port", 1234)
			.hasFieldOrPropertyWithValue("framing", Framing.raw())
			.hasFieldOrPropertyWithValue("maxMessageSize", 1024)
			.hasFieldOrPropertyWithValue("maxConnections", 2)
			.hasFieldOrPropertyWithValue("maxOutboundSize", 3072)
			.hasFieldOrPropertyWithValue("idleTimeout", Duration.ofSeconds(4))
			.hasFieldOrPropertyWithValue("messageTimeout", Duration.ZERO)
			.hasFieldOrPropertyWithValue("writeTimeout", Duration.ofMinutes(5))
			.hasFieldOrPropertyWithValue("minReadRate", 20)
			.hasFieldOrPropertyWithValue("minWriteRate", 30)
			.hasFieldOrPropertyWithValue("backlog", 6)
			.hasFieldOrPropertyWithValue("handshakeTimeout", Duration.ofSeconds(7))
			.hasFieldOrPropertyWithValue("tcpNoDelay", false)
			.hasFieldOrPropertyWithValue("keepAlive", false)
			.hasFieldOrPropertyWithValue("receiveBufferSize", 11 * 1024)
			.hasFieldOrPropertyWithValue("sendBufferSize", 12 * 1024)
			.hasFieldOrPropertyWithValue("loginTimeout", Duration.ofSeconds(10))
			.hasFieldOrPropertyWithValue("readIdle", Duration.ofSeconds(8))
			.hasFieldOrPropertyWithValue("writeIdle", Duration.ofSeconds(9))
			.hasFieldOrPropertyWithValue("trustedNetworks", TrustedNetworks.of("10.0.0.0/8", "fd00::/8"))
			.hasFieldOrPropertyWithValue("directClients", true)
			.hasFieldOrPropertyWithValue("correlation", Correlation.inOrder())
			.hasFieldOrPropertyWithValue("maxExchanges", 3);
		assertThat(builder).extracting("address").hasToString("/127.0.0.1");
		assertThat(server("keep-alive=false")).hasFieldOrPropertyWithValue("tcpNoDelay", true)
			.hasFieldOrPropertyWithValue("keepAlive", false);
	}

	@Test
	void everyPropertyOfAPoolReachesTheEngine() {
		ConfiguredProperties<Pool> properties = TestProperties.bind("lf.pool", Pool.class, "threads.min=3",
				"threads.max=8", "threads.keep-alive=9s", "threads.priority=7", "handle-sets=2", "parallelism=3",
				"promotion.policy=EAGER", "promotion.order=fifo", "promotion.lease=250us", "max-buffered-size=3MB",
				"nested-dispatch=when-starved", "max-nested-depth=6", "watchdog.stuck-after=4s",
				"watchdog.slow-handler-after=0");
		LeaderFollowersPool.Builder builder = new PoolPropertiesMapper(properties).map("mine", List.of());
		assertThat(builder).hasFieldOrPropertyWithValue("threadPriority", 7)
			.hasFieldOrPropertyWithValue("nestedDispatch", NestedDispatch.WHEN_STARVED)
			.hasFieldOrPropertyWithValue("maxNestedDepth", 6)
			.hasFieldOrPropertyWithValue("stuckAfter", Duration.ofSeconds(4))
			.hasFieldOrPropertyWithValue("slowHandlerAfter", Duration.ZERO);
		PoolSnapshot pool = builder.build().snapshot();
		assertThat(pool.name()).isEqualTo("mine");
		assertThat(pool.minThreads()).isEqualTo(3);
		assertThat(pool.maxThreads()).isEqualTo(8);
		assertThat(pool.keepAlive()).isEqualTo(Duration.ofSeconds(9));
		assertThat(pool.handleSets()).hasSize(2);
		assertThat(pool.parallelism()).isEqualTo(3);
		assertThat(pool.promotionPolicy()).isEqualTo(PromotionPolicy.EAGER);
		assertThat(pool.promotionOrder()).isEqualTo(PromotionOrder.FIFO);
		assertThat(pool.promotionLease()).isEqualTo(Duration.ofNanos(250_000));
		assertThat(pool.maxBufferedBytes()).isEqualTo(3 * 1024 * 1024);
	}

	@Test
	void framings() {
		assertThat(framing("framing.type=line")).isEqualTo(Framing.line().toString());
		assertThat(framing("framing.type=delimiter", "framing.delimiter=\\r\\n"))
			.isEqualTo(Framing.delimiter("\r\n").toString());
		assertThat(framing("framing.type=delimiter", "framing.delimiter=0x03"))
			.isEqualTo(Framing.delimiter((byte) 3).toString());
		assertThat(framing("framing.type=fixed-length", "framing.length=12"))
			.isEqualTo(Framing.fixedLength(12).toString());
		assertThat(framing("framing.type=length-field", "framing.length-field.bytes=2"))
			.isEqualTo(Framing.lengthField(2).toString());
		assertThat(framing("framing.type=length-field", "framing.length-field.bytes=3", "framing.length-field.offset=4",
				"framing.length-field.adjustment=-5", "framing.length-field.inclusive=true",
				"framing.length-field.byte-order=little-endian"))
			.isEqualTo(Framing.lengthField(3)
				.offset(4)
				.adjustment(-5)
				.inclusive(true)
				.order(ByteOrder.LITTLE_ENDIAN)
				.toString());
		assertThat(framing("framing.type=raw")).isEqualTo(Framing.raw().toString());
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			decimal-length  | decimal-length(4)
			mllp            | enclosed(0x0b, 0x1c0d)
			iso8583         | length-field(2)
			iso8583-decimal | decimal-length(4)
			modbus-tcp      | length-field(2, offset 4)
			resp            | resp
			""")
	void framingsWithoutDetails(String type, String description) {
		assertThat(framing("framing.type=" + type)).isEqualTo(description);
	}

	@Test
	void framingsWithDetailsOfTheirOwn() {
		assertThat(framing("framing.type=decimal-length", "framing.decimal-length.digits=6",
				"framing.decimal-length.offset=1", "framing.decimal-length.adjustment=2",
				"framing.decimal-length.inclusive=true"))
			.isEqualTo("decimal-length(6, offset 1, adjustment 2, inclusive)");
		assertThat(framing("framing.type=enclosed", "framing.enclosed.start=\\u0002", "framing.enclosed.end=0x03"))
			.isEqualTo("enclosed(0x02, 0x03)");
		assertThat(framing("framing.type=enclosed", "framing.enclosed.start=0x7e", "framing.enclosed.end=0x7e",
				"framing.enclosed.escapes.0x7e=0x7d02", "framing.enclosed.escapes.0x7d=0x7d01"))
			.isEqualTo("enclosed(0x7e, 0x7e, escapes)");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			escapes.0x7e=0x7d   | 'escapes' must have two bytes for each byte.
			escapes.0x7e=0x7d02 | 'escapes' must have an escape for 0x7d, the first byte of all escapes.
			escapes[126]=0x7d02 | '126' is not a single byte such as '0x7e', which needs quotes in YAML.
			escapes.0x7e=0x7    | Must have two hexadecimal digits for each byte after '0x'.
			""", quoteCharacter = '"')
	void escapesAreChecked(String escape, String reason, CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
				"lf.server.framing.type=enclosed", "lf.server.framing.enclosed.start=0x7e",
				"lf.server.framing.enclosed.end=0x7e", "lf.server.framing.enclosed." + escape);
		assertThat(output).contains("for configuration property 'lf.server.framing.enclosed.escapes'", reason);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					lf.server.port                        | 70000   | Must be from 0 to 65535.
					lf.server.backlog                     | 0       | Must be from 1 to 65535.
					lf.server.max-connections             | 0       | Must be at least 1.
					lf.server.max-message-size            | 0       | Must be from 1 to 1073741824 bytes.
					lf.server.max-message-size            | 2GB     | Must be from 1 to 1073741824 bytes.
					lf.server.max-outbound-size           | 1B      | Must be from 1024 to 1073741824 bytes.
					lf.server.idle-timeout                | -1s     | Must not be negative.
					lf.server.message-timeout             | -1s     | Must not be negative.
					lf.server.write-timeout               | -1s     | Must not be negative.
					lf.server.handshake-timeout           | -1s     | Must not be negative.
					lf.server.login-timeout               | -1s     | Must not be negative.
					lf.server.read-idle                   | -1s     | Must not be negative.
					lf.server.write-idle                  | -1s     | Must not be negative.
					lf.server.receive-buffer-size         | 1023B   | Must be from 1024 to 1073741824 bytes.
					lf.server.send-buffer-size            | 2GB     | Must be from 1024 to 1073741824 bytes.
					lf.server.framing.length              | 5       | Is used only if 'lf.server.framing.type' is 'fixed-length'.
					lf.server.framing.delimiter           | ;       | Is used only if 'lf.server.framing.type' is 'delimiter'.
					lf.server.proxy-protocol.direct-clients | true  | Is used only if 'lf.server.proxy-protocol.trusted-networks' is set.
					lf.pool.threads.min                   | 0       | Must be at least 1.
					lf.pool.threads.min                   | 65      | Must not be greater than 'lf.pool.threads.max', which is 64.
					lf.pool.threads.max                   | 3       | Must not be less than 'lf.pool.threads.min', which is 4.
					lf.pool.threads.max                   | 10001   | Must be from 'lf.pool.threads.min', which is 4, to 10000.
					lf.pool.threads.keep-alive            | 0s      | Must be positive.
					lf.pool.threads.priority              | 11      | Must be from 1 to 10.
					lf.pool.handle-sets                   | 0       | Must be from 1 to 64.
					lf.pool.handle-sets                   | 5       | Must not be greater than 'lf.pool.threads.min', which is 4: each handle set needs a thread to lead it.
					lf.pool.parallelism                   | 0       | Must be from 1 to 1024.
					lf.pool.max-nested-depth              | 0       | Must be from 1 to 100.
					lf.pool.parallelism                   | 1025    | Must be from 1 to 1024.
					lf.pool.max-buffered-size             | 63KB    | Must be at least 64KB.
					lf.pool.promotion.lease               | -1ms    | Must be from 100 microseconds to 1 minute.
					lf.pool.promotion.lease               | 0       | Must be from 100 microseconds to 1 minute.
					lf.pool.promotion.lease               | 99us    | Must be from 100 microseconds to 1 minute.
					lf.pool.watchdog.stuck-after          | 999ms   | Must be 0, or from 1 second to 24 hours.
					lf.pool.watchdog.slow-handler-after   | 25h     | Must be 0, or from 1 second to 24 hours.
					lf.pool.promotion.lease               | 61s     | Must be from 100 microseconds to 1 minute.
					""")
	void outOfRange(String property, String value, String reason, CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class, property + "=" + value);
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("Invalid value '%s' for configuration property '%s'".formatted(value, property))
			.contains(reason);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			balancer.example      | 'balancer.example' is not an IP address. Write for example 10.0.0.0/8
			10.0.0.0/33           | must be a number from 0 to 32.
			127.0.0.1,10.0.0.7/8  | Write 10.0.0.0/8 for the network, or 10.0.0.7 for the address alone.
			""", quoteCharacter = '"')
	void aTrustedNetworkThatIsNoneTellsWhich(String networks, String reason, CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
				"lf.server.proxy-protocol.trusted-networks=" + networks);
		assertThat(output).contains("APPLICATION FAILED TO START",
				"for configuration property 'lf.server.proxy-protocol.trusted-networks'", reason);
	}

	@Test
	void trustedNetworksCanBeWrittenAsAListAndTakenBack() {
		assertThat(
				server("proxy-protocol.trusted-networks[0]=10.0.0.0/8", "proxy-protocol.trusted-networks[1]=192.0.2.1"))
			.hasFieldOrPropertyWithValue("trustedNetworks", TrustedNetworks.of("10.0.0.0/8", "192.0.2.1"));
		assertThat(server("proxy-protocol.trusted-networks=")).hasFieldOrPropertyWithValue("trustedNetworks",
				TrustedNetworks.none());
	}

	@Test
	void valueOfAnotherServerOrPoolIsNamedByItsKey(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.ThreeHandlers.class, "lf.servers.orders.port=-1",
				"lf.servers.quotes.port=0");
		assertThat(output).contains("Invalid value '-1' for configuration property 'lf.servers.orders.port'",
				"Must be from 0 to 65535.");
	}

	@Test
	void fixedLengthMustFitIntoAMessage(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
				"lf.server.framing.type=fixed-length", "lf.server.framing.length=2000",
				"lf.server.max-message-size=1KB");
		assertThat(output).contains("Invalid value '2000' for configuration property 'lf.server.framing.length'",
				"Must not be greater than 'lf.server.max-message-size', which is 1024 bytes.");
	}

	@ParameterizedTest
	@CsvSource({ "length-field, bytes", "decimal-length, digits" })
	void headerMustFitIntoAMessage(String type, String size, CapturedOutput output) {
		String prefix = "lf.server.framing." + type;
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
				"lf.server.framing.type=" + type, prefix + "." + size + "=2", prefix + ".offset=100",
				"lf.server.max-message-size=99B");
		assertThat(output).contains("Invalid value '100' for configuration property '%s.offset'".formatted(prefix),
				"Must not be greater than 'lf.server.max-message-size', which is 99 bytes.");
	}

	@ParameterizedTest
	@CsvSource({ "length-field, bytes=2", "decimal-length, digits=4", "enclosed, start=0x02" })
	void propertiesOfAnotherFramingAreRefused(String type, String property, CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
				"lf.server.framing.%s.%s".formatted(type, property));
		assertThat(output).contains("for configuration property 'lf.server.framing.%s'".formatted(type),
				"Is used only if 'lf.server.framing.type' is '%s'.".formatted(type));
	}

	@Test
	void unusedPoolIsValidatedAsWell(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class, "lf.server.port=0",
				"lf.pools.slow.threads.min=0");
		assertThat(output).contains("Invalid value '0' for configuration property 'lf.pools.slow.threads.min'",
				"Must be at least 1.");
	}

	@Test
	void leaseOfAnotherPoolIsNamedByItsKey(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class, "lf.server.port=0",
				"lf.pools.slow.promotion.lease=1h");
		assertThat(output).contains("APPLICATION FAILED TO START",
				"Invalid value '1h' for configuration property 'lf.pools.slow.promotion.lease'",
				"Must be from 100 microseconds to 1 minute.");
	}

	@Test
	void otherServersNeedAPort(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.ThreeHandlers.class, "lf.server.port=0",
				"lf.servers.orders.backlog=10", "lf.servers.quotes.port=0");
		assertThat(output).contains("Invalid value '' for configuration property 'lf.servers.orders.port'",
				"A port is required: only the server 'default' has one by default. Use 0 for any free port.");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			delimiter    | lf.server.framing.delimiter
			fixed-length | lf.server.framing.length
			length-field | lf.server.framing.length-field.bytes
			enclosed     | lf.server.framing.enclosed.start
			""")
	void framingNeedsItsDetails(String type, String property, CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
				"lf.server.framing.type=" + type);
		assertThat(output).contains("Invalid value '' for configuration property '%s'".formatted(property),
				"A value is required, because 'lf.server.framing.type' is '%s'.".formatted(type));
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			delimiter    | delimiter=\\q             | A backslash must be followed by
			delimiter    | delimiter=0x3             | Must have two hexadecimal digits for each byte after '0x'.
			delimiter    | delimiter=                | Must not be empty.
			fixed-length | length=0                  | Must be
			length-field | length-field.bytes=5      | Must be 1, 2, 3 or 4.
			decimal-length | decimal-length.digits=0 | Must be from 1 to 9.
			decimal-length | decimal-length.offset=-1 | Must be from 0 to 1024.
			enclosed     | enclosed.start=           | Must not be empty.
			""")
	void detailsOfFramingAreChecked(String type, String detail, String reason, CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
				"lf.server.framing.type=" + type, "lf.server.framing." + detail);
		assertThat(output).contains(
				"for configuration property 'lf.server.framing.%s'".formatted(detail.replaceFirst("=.*", "")), reason);
	}

	@Test
	void valueOfAnotherTypeTellsTheProperty(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class,
				"lf.server.framing.type=lines");
		assertThat(output).contains("Property: lf.server.framing.type", "Value: \"lines\"",
				"The following values are valid:", "FIXED_LENGTH");
	}

	@Test
	void propertyThatDoesNotExistFails(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class, "lf.server.prot=7070");
		assertThat(output).contains("Property: lf.server.prot", "The elements [lf.server.prot] were left unbound.");
	}

	@Test
	void theDefaultServerCannotBeConfiguredTwice(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class, "lf.server.port=0",
				"lf.servers.default.port=0");
		assertThat(output).contains("The following configuration properties are mutually exclusive:", "\tlf.server.*",
				"\tlf.servers.default.*", "\tlf.server.port", "\tlf.servers.default.port");
	}

	@Test
	void theDefaultPoolCannotBeConfiguredTwice(CapturedOutput output) {
		FailingApplication.run(LeaderFollowersAutoConfigurationTests.EchoBeanMethod.class, "lf.server.port=0",
				"lf.pool.handle-sets=1", "lf.pools.default.handle-sets=1");
		assertThat(output).contains("The following configuration properties are mutually exclusive:", "\tlf.pool.*",
				"\tlf.pools.default.*", "\tlf.pool.handle-sets", "\tlf.pools.default.handle-sets");
	}

	private static TcpServer.Builder server(String... properties) {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			return new ServerPropertiesMapper(TestProperties.bind("lf.server", Server.class, properties), NO_FRAMINGS)
				.map("default", pool);
		}
	}

	private static String framing(String... properties) {
		return server(properties).handler((connection, message) -> connection.send(message))
			.build()
			.snapshot()
			.framing();
	}

}
