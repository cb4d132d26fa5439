package org.leaderfollowers.spring.autoconfigure;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;

import org.springframework.boot.json.JsonParserFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the metadata that tells IDEs about {@link LfProperties}.
 */
class ConfigurationMetadataTests {

	/** Boot adds the access and the cache of each endpoint. */
	private static final Pattern OURS = Pattern
		.compile("lf\\..*|management\\.endpoint\\.lf[a-z]+\\.(?!access$|cache\\.).*");

	private final Map<String, Map<String, Object>> properties = read();

	@Test
	void everyPropertyHasADescriptionInTheStyleOfBoot() {
		assertThat(this.properties).isNotEmpty().allSatisfy((name, property) -> {
			assertThat((String) property.get("description")).as(name)
				.matches("[A-Z].*\\.")
				.doesNotStartWith("The ")
				.doesNotStartWith("A ");
			if ("java.lang.Boolean".equals(property.get("type"))) {
				assertThat((String) property.get("description")).as(name).startsWith("Whether");
			}
		});
	}

	@Test
	void everyKeyIsThere() {
		assertThat(this.properties).containsOnlyKeys("lf.enabled", "lf.server.port", "lf.server.address",
				"lf.server.pool", "lf.server.transport", "lf.server.framing.type", "lf.server.framing.bean",
				"lf.server.framing.delimiter", "lf.server.framing.length", "lf.server.framing.length-field.bytes",
				"lf.server.framing.length-field.offset", "lf.server.framing.length-field.adjustment",
				"lf.server.framing.length-field.inclusive", "lf.server.framing.length-field.byte-order",
				"lf.server.framing.decimal-length.digits", "lf.server.framing.decimal-length.offset",
				"lf.server.framing.decimal-length.adjustment", "lf.server.framing.decimal-length.inclusive",
				"lf.server.framing.enclosed.start", "lf.server.framing.enclosed.end",
				"lf.server.framing.enclosed.escapes", "lf.server.charset", "lf.server.max-message-size",
				"lf.server.max-connections", "lf.server.max-outbound-size", "lf.server.idle-timeout",
				"lf.server.message-timeout", "lf.server.write-timeout", "lf.server.backlog", "lf.server.tcp-no-delay",
				"lf.server.keep-alive", "lf.server.receive-buffer-size", "lf.server.send-buffer-size",
				"lf.server.handshake-timeout", "lf.server.read-idle", "lf.server.write-idle", "lf.server.login-timeout",
				"lf.server.max-in-flight-per-connection", "lf.server.message-order", "lf.server.reply-order",
				"lf.server.skip-oversized-messages", "lf.server.service-classes",
				"lf.server.per-client.max-connections", "lf.server.per-client.connections-per-second",
				"lf.server.per-client.messages-per-second", "lf.server.per-client.bytes-per-second",
				"lf.server.per-client.failed-logins-per-minute", "lf.server.per-client.action",
				"lf.server.per-client.max-clients", "lf.server.per-client.ipv4-prefix-length",
				"lf.server.per-client.ipv6-prefix-length", "lf.server.correlation.type", "lf.server.correlation.bean",
				"lf.server.correlation.offset", "lf.server.correlation.length", "lf.server.max-exchanges",
				"lf.server.proxy-protocol.trusted-networks", "lf.server.proxy-protocol.direct-clients",
				"lf.server.min-read-rate", "lf.server.min-write-rate", "lf.server.udp.max-in-flight",
				"lf.server.udp.max-reply-ratio", "lf.server.udp.max-reply-rate", "lf.server.udp.suspension-timeout",
				"lf.server.udp.receive-buffer-size", "lf.server.udp.send-buffer-size", "lf.servers", "lf.clients",
				"lf.pool.threads.min", "lf.pool.threads.max", "lf.pool.threads.keep-alive", "lf.pool.threads.priority",
				"lf.pool.handle-sets", "lf.pool.parallelism", "lf.pool.max-buffered-size", "lf.pool.nested-dispatch",
				"lf.pool.max-nested-depth", "lf.pool.promotion.policy", "lf.pool.promotion.order",
				"lf.pool.promotion.lease", "lf.pool.watchdog.stuck-after", "lf.pool.watchdog.slow-handler-after",
				"lf.pools", "lf.sources", "lf.server.ssl.enabled", "lf.server.ssl.bundle", "lf.server.ssl.client-auth",
				"lf.server.ssl.max-handshakes", "lf.server.ssl.max-handshake-rate", "lf.sessions.max-name-length",
				"lf.sessions.max-takeovers", "lf.sessions.takeover-period", "lf.sessions.timeout", "lf.shutdown.delay",
				"lf.shutdown.close-rate", "lf.shutdown.message-timeout", "lf.observation.mode", "lf.logging.mdc",
				"lf.logging.wire.payload", "lf.logging.wire.max-duration", "lf.logging.wire.max-segment-size",
				"lf.logging.wire.max-size", "lf.health.saturated-after",
				"management.endpoint.lfconnections.show-remote-addresses", "management.endpoint.lfconnections.roles");
	}

	@Test
	void everyPropertyThatIsNotOptionalHasADefault() {
		Set<String> withoutDefault = this.properties.entrySet()
			.stream()
			.filter((entry) -> !entry.getValue().containsKey("defaultValue"))
			.map(Map.Entry::getKey)
			.collect(Collectors.toCollection(TreeSet::new));
		assertThat(withoutDefault).containsExactly("lf.clients", "lf.health.saturated-after", "lf.pool.handle-sets",
				"lf.pool.max-buffered-size", "lf.pool.parallelism", "lf.pools", "lf.server.address",
				"lf.server.correlation.bean", "lf.server.correlation.length", "lf.server.correlation.offset",
				"lf.server.correlation.type", "lf.server.framing.bean", "lf.server.framing.delimiter",
				"lf.server.framing.enclosed.end", "lf.server.framing.enclosed.escapes",
				"lf.server.framing.enclosed.start", "lf.server.framing.length", "lf.server.framing.length-field.bytes",
				"lf.server.message-order", "lf.server.per-client.bytes-per-second",
				"lf.server.per-client.connections-per-second", "lf.server.per-client.failed-logins-per-minute",
				"lf.server.per-client.max-connections", "lf.server.per-client.messages-per-second",
				"lf.server.proxy-protocol.trusted-networks", "lf.server.receive-buffer-size",
				"lf.server.send-buffer-size", "lf.server.service-classes", "lf.server.ssl.bundle",
				"lf.server.ssl.enabled", "lf.server.ssl.max-handshake-rate", "lf.server.udp.receive-buffer-size",
				"lf.server.udp.send-buffer-size", "lf.servers", "lf.shutdown.close-rate", "lf.sources",
				"management.endpoint.lfconnections.roles");
		assertThat(this.properties.get("lf.server.port")).containsEntry("defaultValue", 7070);
		assertThat(this.properties.get("lf.pool.promotion.policy")).containsEntry("defaultValue", "adaptive");
		assertThat(this.properties.get("lf.pool.promotion.lease")).containsEntry("defaultValue", "2ms")
			.containsEntry("type", "java.time.Duration");
	}

	@SuppressWarnings("unchecked")
	private static Map<String, Map<String, Object>> read() {
		try (InputStream input = ConfigurationMetadataTests.class
			.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
			assertThat(input).isNotNull();
			String json = new String(input.readAllBytes(), StandardCharsets.UTF_8);
			Map<String, Object> metadata = JsonParserFactory.getJsonParser().parseMap(json);
			return ((List<Map<String, Object>>) metadata.get("properties")).stream()
				.filter((property) -> OURS.matcher(property.get("name").toString()).matches())
				.collect(Collectors.toMap((property) -> property.get("name").toString(), (property) -> property));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
