package org.leaderfollowers.docs.monitoring;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.docs.monitoring.Dashboard.Query;
import org.leaderfollowers.docs.monitoring.PromQl.Selector;
import org.leaderfollowers.docs.monitoring.Rules.Rule;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import tools.jackson.databind.JsonNode;

import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The dashboard and the rules only query metrics that an application has: a running one,
 * with clients, an occasional error, and a pool whose threads are all stuck. Prometheus
 * itself evaluates the queries, if it is installed; otherwise, the names of meters and
 * labels are compared with the result of a scrape.
 */
@TestInstance(Lifecycle.PER_CLASS)
class MonitoringTests {

	/** Queries without a result in this test, and the reasons. Their metrics exist. */
	private static final Map<String, String> EMPTY = Map.of("Starvations B", "every thread could be started");

	/** Meters without a panel, and the reasons. */
	private static final Map<String, String> NOT_SHOWN = Map.of("lf_pool_threads_min", "says what is configured",
			"lf_messages_active_seconds", "lf_handler_threads tells the same of all messages");

	/** Labels that Prometheus adds to what it scrapes. */
	private static final Set<String> TARGET_LABELS = Set.of("job", "instance");

	private static final Pattern SAMPLE = Pattern.compile("(?m)^([a-zA-Z_:][\\w:]*)(?:\\{(.*)})? \\S+$");

	private static final Pattern LABEL = Pattern.compile("(\\w+)=\"((?:[^\"\\\\]|\\\\.)*)\"");

	private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((.*), (\\w+)\\)");

	private final Dashboard dashboard = Dashboard.read();

	private final Rules rules = Rules.read();

	private ConfigurableApplicationContext application;

	private Traffic traffic;

	private @Nullable Prometheus prometheus;

	@BeforeAll
	void start(@TempDir Path directory) throws Exception {
		Path keyStore = directory.resolve("secure.p12");
		Programs.run(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair", "-keystore",
				keyStore.toString(), "-storepass", "changeit", "-storetype", "PKCS12", "-alias", "secure", "-keyalg",
				"EC", "-groupname", "secp256r1", "-dname", "CN=localhost", "-validity", "2");
		this.application = new SpringApplicationBuilder(MonitoredApplication.class)
			.run("--spring.config.location=classpath:monitoring/application.yaml", "--keystore=" + keyStore.toUri());
		this.traffic = new Traffic(
				(server) -> this.application.getBean(LeaderFollowersServers.class).get(server).port(),
				clientContext(keyStore));
		this.traffic.getThreadsStuck(2);
		this.traffic.start();
		if (Programs.isInstalled("prometheus")) {
			this.prometheus = Prometheus.start(directory, port());
		}
	}

	@AfterAll
	void stop() throws Exception {
		if (this.prometheus != null) {
			this.prometheus.close();
		}
		if (this.application != null) {
			this.application.getBean(CountDownLatch.class).countDown();
		}
		if (this.traffic != null) {
			this.traffic.close();
			assertThat(this.traffic.failure()).isNull();
		}
		if (this.application != null) {
			this.application.close();
		}
	}

	@Test
	void whatIsAskedForIsScraped() {
		eventually(() -> {
			Map<String, Set<String>> scrape = scrape();
			Set<String> recorded = this.rules.recordings().stream().map(Rule::name).collect(Collectors.toSet());
			Set<String> labels = scrape.values().stream().flatMap(Set::stream).collect(Collectors.toSet());
			for (PromQl query : queries()) {
				assertThat(query.selectors()).filteredOn((selector) -> !recorded.contains(selector.metric()))
					.allSatisfy((selector) -> {
						assertThat(scrape).containsKey(selector.metric());
						assertThat(scrape.get(selector.metric())).as(selector.text())
							.containsAll(without(selector.labels(), TARGET_LABELS));
					});
				assertThat(labels).containsAll(without(query.groupingLabels(), TARGET_LABELS));
			}
		});
	}

	/** The variables above the panels apply to every query that has the label. */
	@Test
	void panelsAreFilteredByPoolAndServer() {
		eventually(() -> {
			Map<String, Set<String>> scrape = scrape();
			assertThat(this.dashboard.queries()).allSatisfy((query) -> {
				for (Selector selector : PromQl.of(query.expression()).selectors()) {
					assertThat(scrape).containsKey(selector.metric());
					for (String variable : List.of("pool", "server")) {
						if (scrape.get(selector.metric()).contains(variable)) {
							assertThat(selector.text()).contains(variable + "=~\"$" + variable + "\"");
						}
					}
				}
			});
		});
	}

	/** A new meter must be on a panel, or be listed here with a reason. */
	@Test
	void everyMeterIsShown() {
		Set<String> shown = this.dashboard.queries()
			.stream()
			.flatMap((query) -> PromQl.of(query.expression()).selectors().stream())
			.map((selector) -> family(selector.metric()))
			.collect(Collectors.toCollection(TreeSet::new));
		eventually(() -> {
			Set<String> metrics = scrape().keySet()
				.stream()
				.filter((metric) -> metric.startsWith("lf_"))
				.map(MonitoringTests::family)
				.collect(Collectors.toCollection(TreeSet::new));
			assertThat(metrics).contains("lf_messages_seconds");
			metrics.removeAll(shown);
			assertThat(metrics).isSubsetOf(NOT_SHOWN.keySet());
		});
	}

	@Test
	void variablesHaveValues() {
		assumePrometheus();
		eventually(() -> {
			Map<String, String> values = variables();
			assertThat(values.get("job")).isEqualTo("(oltp)");
			assertThat(values.get("instance")).isEqualTo("(127\\\\.0\\\\.0\\\\.1:" + port() + ")");
			assertThat(values.get("pool")).isEqualTo("(default|small)");
			assertThat(values.get("server")).isEqualTo("(default|secure|stuck|telemetry)");
		});
	}

	@Test
	void everyPanelShowsSomething() {
		Prometheus prometheus = assumePrometheus();
		eventually(() -> {
			for (Map<String, String> variables : List.of(all(), variables())) {
				assertThat(this.dashboard.queries()).filteredOn((query) -> !EMPTY.containsKey(query.name()))
					.allSatisfy((query) -> assertHasNumbers(query, prometheus.query(expression(query, variables))));
			}
			assertThat(this.dashboard.queries()).filteredOn((query) -> EMPTY.containsKey(query.name()))
				.hasSize(EMPTY.size())
				.flatExtracting((query) -> PromQl.of(expression(query, all())).selectors())
				.allSatisfy((selector) -> assertThat(prometheus.query(selector.text())).isNotEmpty());
		});
	}

	private static void assertHasNumbers(Query query, JsonNode series) {
		assertThat(series).as(query.name()).isNotEmpty();
		assertThat(series).as(query.name())
			.allSatisfy((one) -> assertThat(one.path("value").path(1).asString()).isNotEqualTo("NaN"));
	}

	@Test
	void rulesAreEvaluated() {
		Prometheus prometheus = assumePrometheus();
		eventually(() -> {
			JsonNode states = prometheus.rules();
			assertThat(states).hasSize((int) this.rules.all().count())
				.allSatisfy((rule) -> assertThat(rule.path("health").asString()).as(rule.toString()).isEqualTo("ok"));
			assertThat(this.rules.recordings()).allSatisfy(
					(recording) -> assertThat(prometheus.query(recording.name())).as(recording.name()).isNotEmpty());
			assertThat(this.rules.alerts()).allSatisfy((alert) -> assertThat(PromQl.of(alert.expression()).selectors())
				.isNotEmpty()
				.allSatisfy(
						(selector) -> assertThat(prometheus.query(selector.text())).as(selector.text()).isNotEmpty()));
		});
	}

	@Test
	void aStarvedPoolRaisesTheAlertThatNamesPoolAndHandler() {
		Prometheus prometheus = assumePrometheus();
		eventually(() -> {
			List<JsonNode> firing = prometheus.alerts()
				.valueStream()
				.filter((alert) -> alert.path("state").asString().equals("firing"))
				.toList();
			assertThat(firing).hasSize(1);
			JsonNode alert = firing.get(0);
			assertThat(alert.path("labels").path("alertname").asString()).isEqualTo("LfPoolStarved");
			assertThat(alert.path("labels").path("job").asString()).isEqualTo("oltp");
			assertThat(alert.path("labels").path("pool").asString()).isEqualTo("small");
			assertThat(alert.path("annotations").path("summary").asString()).startsWith("Pool small of 127.0.0.1:");
			assertThat(alert.path("annotations").path("description").asString()).contains("every thread of pool small")
				.endsWith("The threads run: 2 x handler stuckHandler of server stuck.");
		});
	}

	private Prometheus assumePrometheus() {
		Programs.assumeInstalled("prometheus");
		assertThat(this.prometheus).isNotNull();
		return this.prometheus;
	}

	private Stream<String> expressions() {
		return Stream.concat(this.dashboard.queries().stream().map(Query::expression),
				this.rules.all().map(Rule::expression));
	}

	private List<PromQl> queries() {
		Stream<String> nested = this.rules.alerts()
			.stream()
			.flatMap((alert) -> alert.annotations().values().stream())
			.flatMap((text) -> Pattern.compile("printf\\s+\"((?:[^\"\\\\]|\\\\.)*)\"\\s+\\$labels")
				.matcher(text)
				.results())
			.map((result) -> result.group(1).replace("%q", "\"\"").replace("\\\"", "\""));
		return Stream.concat(expressions(), nested).map(PromQl::of).toList();
	}

	private static Map<String, String> all() {
		return Map.of("__rate_interval", "10s", "job", ".*", "instance", ".*", "pool", ".*", "server", ".*");
	}

	/** All values of each variable, selected together and escaped as Grafana does it. */
	private Map<String, String> variables() {
		Map<String, String> values = new HashMap<>(Map.of("__rate_interval", "10s"));
		for (Map.Entry<String, String> variable : this.dashboard.variables().entrySet()) {
			Matcher query = LABEL_VALUES.matcher(substitute(variable.getValue(), values));
			assertThat(query.matches()).isTrue();
			values.put(variable.getKey(),
					assumePrometheus().labelValues(query.group(1), query.group(2))
						.valueStream()
						.map((value) -> value.asString().replace(".", "\\\\."))
						.sorted()
						.collect(Collectors.joining("|", "(", ")")));
		}
		return values;
	}

	private static String expression(Query query, Map<String, String> variables) {
		String expression = substitute(query.expression(), variables);
		assertThat(expression).doesNotContain("$");
		return expression;
	}

	private static String substitute(String text, Map<String, String> variables) {
		String result = text;
		for (Map.Entry<String, String> variable : variables.entrySet()) {
			result = result.replace("$" + variable.getKey(), variable.getValue());
		}
		return result;
	}

	private static Set<String> without(Set<String> labels, Set<String> others) {
		Set<String> result = new TreeSet<>(labels);
		result.removeAll(others);
		return result;
	}

	/** The labels of each metric in a scrape. */
	private Map<String, Set<String>> scrape() throws IOException, InterruptedException {
		HttpResponse<String> response = HttpClient.newHttpClient()
			.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port() + "/actuator/prometheus"))
				.timeout(Duration.ofSeconds(30))
				.build(), HttpResponse.BodyHandlers.ofString());
		assertThat(response.statusCode()).isEqualTo(200);
		Map<String, Set<String>> metrics = new TreeMap<>();
		Matcher sample = SAMPLE.matcher(response.body());
		while (sample.find()) {
			Set<String> labels = metrics.computeIfAbsent(sample.group(1), (metric) -> new TreeSet<>());
			if (sample.group(2) != null) {
				LABEL.matcher(sample.group(2)).results().forEach((label) -> labels.add(label.group(1)));
			}
		}
		return metrics;
	}

	private static String family(String metric) {
		return metric.replaceFirst("_seconds_(g?count|g?sum|max|bucket)$", "_seconds");
	}

	private int port() {
		return Integer.parseInt(this.application.getEnvironment().getProperty("local.server.port", "-1"));
	}

	private static SSLContext clientContext(Path keyStore) throws Exception {
		KeyStore store = KeyStore.getInstance(keyStore.toFile(), "changeit".toCharArray());
		KeyStore anchors = KeyStore.getInstance("PKCS12");
		anchors.load(null, null);
		anchors.setCertificateEntry("secure", store.getCertificate("secure"));
		TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
		trust.init(anchors);
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(null, trust.getTrustManagers(), null);
		return context;
	}

	private static void eventually(ThrowingRunnable assertion) {
		Awaitility.await()
			.atMost(Duration.ofSeconds(180))
			.pollInterval(Duration.ofMillis(500))
			.ignoreExceptions()
			.untilAsserted(assertion);
	}

}
