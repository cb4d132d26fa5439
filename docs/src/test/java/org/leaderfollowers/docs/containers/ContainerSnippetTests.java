package org.leaderfollowers.docs.containers;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The manifests of the chapter about containers match the application that the chapter
 * configures.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT,
		properties = { "spring.config.import=classpath:containers/application.yaml", "lf.server.port=0" })
class ContainerSnippetTests {

	private static final Path CHAPTER = Path.of("src/docs/asciidoc/containers.adoc");

	private static final Pattern YAML = Pattern
		.compile("\\[source,yaml]\\R----\\Rinclude::\\{snippet-resources}/(\\S+)\\[]\\R----");

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	@Test
	void yamlOfTheChapterIsValid() throws IOException {
		String chapter = Files.readString(CHAPTER);
		List<String> files = YAML.matcher(chapter).results().map((result) -> result.group(1)).toList();
		assertThat(files).hasSize(chapter.split("\\[source,yaml]", -1).length - 1).isNotEmpty();
		for (String file : files) {
			assertThat(documents(file)).as(file)
				.isNotEmpty()
				.allSatisfy((document) -> assertThat(document).isNotEmpty());
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "startupProbe", "livenessProbe", "readinessProbe" })
	void probesAreAnswered(String probe, @Value("${local.server.port}") int port)
			throws IOException, InterruptedException {
		assertThat(get(map(map(container(), probe), "httpGet").get("path"), port)).contains("UP");
	}

	/**
	 * Prometheus finds the meter that the autoscaler scales by, at the path of the
	 * ServiceMonitor.
	 */
	@Test
	void theMeterOfTheAutoscalerIsScraped(@Value("${local.server.port}") int port)
			throws IOException, InterruptedException {
		Map<String, Object> monitor = documents("containers/service-monitor.yaml").get(1);
		String meters = get(maps(map(monitor, "spec"), "endpoints").get(0).get("path"), port);
		Map<String, Object> metric = map(
				map(maps(map(documents("containers/autoscaler.yaml").get(0), "spec"), "metrics").get(0), "pods"),
				"metric");
		assertThat(meters).contains("\n" + metric.get("name") + "{server=\""
				+ map(map(metric, "selector"), "matchLabels").get("server") + "\"} ");
		Map<String, Object> rule = maps(map(documents("containers/prometheus-adapter.yaml").get(0), "rules"), "custom")
			.get(0);
		assertThat(rule.get("seriesQuery").toString()).startsWith(metric.get("name") + "{");
	}

	private static String get(Object path, int port) throws IOException, InterruptedException {
		HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
			.timeout(TIMEOUT)
			.build();
		HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
		assertThat(response.statusCode()).isEqualTo(200);
		return response.body();
	}

	@Test
	void portsAreThoseOfTheApplication() throws IOException {
		Map<String, Object> application = documents("containers/application.yaml").get(0);
		assertThat(maps(container(), "ports")).containsExactly(
				Map.of("name", "lf", "containerPort", map(map(application, "lf"), "server").get("port")),
				Map.of("name", "actuator", "containerPort", map(application, "server").get("port")));
		assertThat(maps(map(deployment().get(1), "spec"), "ports")).extracting((port) -> port.get("targetPort"))
			.containsExactly("lf");
	}

	@Test
	void gracePeriodIsLongEnough(@Value("${lf.shutdown.delay}") Duration delay,
			@Value("${spring.lifecycle.timeout-per-shutdown-phase}") Duration phase) throws IOException {
		int seconds = (int) pod().get("terminationGracePeriodSeconds");
		assertThat(Duration.ofSeconds(seconds).minus(delay).minus(phase)).isEqualTo(Duration.ofSeconds(20));
	}

	private static Map<String, Object> container() throws IOException {
		return maps(pod(), "containers").get(0);
	}

	private static Map<String, Object> pod() throws IOException {
		return map(map(map(deployment().get(0), "spec"), "template"), "spec");
	}

	private static List<Map<String, Object>> deployment() throws IOException {
		return documents("containers/deployment.yaml");
	}

	private static List<Map<String, Object>> documents(String file) throws IOException {
		return Manifests.documents(file);
	}

	@SuppressWarnings("unchecked")
	private static Map<String, Object> map(Map<String, Object> parent, String key) {
		assertThat(parent.get(key)).as(key).isInstanceOf(Map.class);
		return (Map<String, Object>) parent.get(key);
	}

	@SuppressWarnings("unchecked")
	private static List<Map<String, Object>> maps(Map<String, Object> parent, String key) {
		assertThat(parent.get(key)).as(key).isInstanceOf(List.class);
		return (List<Map<String, Object>>) parent.get(key);
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return (connection, message) -> connection.send(message);
		}

	}

}
