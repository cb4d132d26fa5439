package org.leaderfollowers.docs.metrics;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.search.MeterNotFoundException;
import io.micrometer.core.instrument.Tag;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.EventSource;
import org.leaderfollowers.Framing;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.handler.ClientProxies;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.client.LfTestPeer;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/** The tables of the guide name every meter, and no others. */
class MeterTableTests {

	private static final Pattern ROW = Pattern.compile("\\|`(lf\\.[a-z.]+)`\n\\|(.*)\n\\|(.*)\n\\|(.*)\n\\|(.+)");

	private static final Pattern TYPE = Pattern.compile("# TYPE (lf_\\w+) (\\w+)");

	@TempDir
	Path directory;

	@Test
	void metersAreThoseOfTheTables() throws IOException {
		Map<String, Row> documented = read();
		run((context) -> {
			Map<String, Row> meters = new TreeMap<>();
			context.getBean(MeterRegistry.class)
				.getMeters()
				.stream()
				.filter((meter) -> meter.getId().getName().startsWith("lf."))
				.forEach((meter) -> meters.put(meter.getId().getName(), Row.of(meter)));
			assertThat(documented).containsExactlyInAnyOrderEntriesOf(meters);
		});
	}

	@Test
	void prometheusTakesAllOfThem() {
		run((context) -> {
			PrometheusMeterRegistry registry = context.getBean(PrometheusMeterRegistry.class);
			String text = registry.scrape();
			Map<String, String> types = new TreeMap<>();
			TYPE.matcher(text).results().forEach((type) -> types.put(type.group(1), type.group(2)));
			assertThat(types).containsEntry("lf_connections", "gauge")
				.containsEntry("lf_connections_max", "gauge")
				.containsEntry("lf_connections_accepted_total", "counter")
				.containsEntry("lf_connections_closed_total", "counter")
				.containsEntry("lf_pool_threads", "gauge")
				.containsEntry("lf_pool_threads_max", "gauge")
				.containsEntry("lf_pool_starved_seconds", "gauge")
				.containsEntry("lf_pool_vacant_seconds", "gauge")
				.containsEntry("lf_buffered_bytes", "gauge")
				.containsEntry("lf_buffered_max_bytes", "gauge")
				.containsEntry("lf_bytes_total", "counter")
				.containsEntry("lf_tls_handshakes_total", "counter")
				.containsEntry("lf_handoff_seconds", "summary")
				.containsEntry("lf_messages_seconds", "summary");
			for (Meter meter : registry.getMeters()) {
				if (meter.getId().getName().startsWith("lf.")) {
					String name = registry.config()
						.namingConvention()
						.name(meter.getId().getName(), meter.getId().getType(), meter.getId().getBaseUnit());
					assertThat(types.keySet()).as(meter.getId().getName())
						.anyMatch((type) -> type.equals(name) || type.equals(name + "_total"));
				}
			}
			assertThat(registry.scrape("application/openmetrics-text; version=1.0.0")).endsWith("# EOF\n")
				.contains("# TYPE lf_connections_accepted counter", "lf_connections_accepted_total{");
		});
	}

	private void run(Consumer<ApplicationContext> consumer) {
		LfTestPeer peer = LfTestPeer.listen(Framing.line()).answer(LfTestPeer.Request::text);
		new ApplicationContextRunner().withUserConfiguration(Application.class)
			.withPropertyValues("lf.clients.ledger.addresses=" + peer.address(),
					"lf.clients.ledger.correlation.type=in-order", "lf.clients.ledger.request-timeout=30s",
					"lf.server.port=0", "lf.servers.udp.port=0", "lf.servers.udp.transport=udp",
					"lf.servers.tls.port=0", "lf.servers.tls.per-client.max-connections=100",
					"lf.servers.tls.ssl.bundle=tls", "spring.ssl.bundle.jks.tls.keystore.location=file:" + keyStore(),
					"spring.ssl.bundle.jks.tls.keystore.password=changeit",
					"spring.ssl.bundle.jks.tls.keystore.type=PKCS12")
			.run((context) -> {
				// Local, so that it is not found in the packages of other applications.
				@LfClient("ledger")
				interface Ledger {

					@Exchange
					String book(String order);

				}
				assertThat(context.getBean(ClientProxies.class).create(Ledger.class).book("one")).isEqualTo("one");
				peer.close();
				try (TcpTestClient client = TcpTestClient
					.connect(context.getBean(LeaderFollowersServers.class).get("default").port())) {
					client.send("hello");
					assertThat(client).receives("hello");
				}
				Awaitility.await()
					.atMost(Duration.ofSeconds(60))
					.ignoreException(MeterNotFoundException.class)
					.untilAsserted(
							() -> assertThat(context.getBean(MeterRegistry.class).get("lf.messages").timer().count())
								.isEqualTo(1));
				consumer.accept(context);
			});
	}

	private Path keyStore() {
		Path file = this.directory.resolve("tls.p12");
		try {
			Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
					"-genkeypair", "-keystore", file.toString(), "-storepass", "changeit", "-storetype", "PKCS12",
					"-alias", "tls", "-keyalg", "EC", "-dname", "CN=localhost", "-validity", "2")
				.redirectErrorStream(true)
				.start();
			assertThat(keytool.waitFor(60, TimeUnit.SECONDS)).isTrue();
			assertThat(keytool.exitValue()).isZero();
		}
		catch (IOException | InterruptedException ex) {
			throw new AssertionError(ex);
		}
		return file;
	}

	private static Map<String, Row> read() throws IOException {
		Map<String, Row> rows = new TreeMap<>();
		Matcher matcher = ROW.matcher(Files.readString(Path.of("src/docs/asciidoc/metrics.adoc")));
		while (matcher.find()) {
			String tags = Arrays.stream(matcher.group(3).split(", "))
				.map((tag) -> tag.replace("`", ""))
				.collect(Collectors.toCollection(TreeSet::new))
				.toString();
			assertThat(rows.put(matcher.group(1), new Row(matcher.group(2), tags, matcher.group(4))))
				.as(matcher.group(1))
				.isNull();
		}
		return rows;
	}

	/**
	 * The entry of a table about a meter, without its description.
	 *
	 * @param kind the type
	 * @param tags the keys of its tags, in alphabetical order
	 * @param unit the base unit, if there is one
	 */
	record Row(String kind, String tags, String unit) {

		static Row of(Meter meter) {
			Meter.Id id = meter.getId();
			assertThat(id.getDescription()).as(id.getName())
				.satisfiesAnyOf((text) -> assertThat(text).isNotBlank(),
						(text) -> assertThat(id.getName()).as("made by Micrometer")
							.matches("lf\\.(messages|client\\.exchanges).*"));
			return new Row(id.getType().name().toLowerCase(Locale.ROOT).replace('_', ' '),
					id.getTags().stream().map(Tag::getKey).collect(Collectors.toCollection(TreeSet::new)).toString(),
					(id.getBaseUnit() != null) ? id.getBaseUnit() : "");
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return (connection, message) -> connection.send(message);
		}

		@Bean
		@LfHandler(server = "udp")
		MessageHandler datagrams() {
			return (connection, message) -> connection.send(message);
		}

		@Bean
		EventSource<String> events() {
			return EventSource.of(new LinkedBlockingQueue<>());
		}

		@Bean
		@LfHandler(source = "events")
		EventSource.Handler<String> ignored() {
			return (event) -> {
			};
		}

		@Bean
		@LfHandler(server = "tls")
		MessageHandler encrypted() {
			return (connection, message) -> connection.send(message);
		}

	}

}
