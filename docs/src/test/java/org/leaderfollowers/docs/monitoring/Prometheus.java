package org.leaderfollowers.docs.monitoring;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.awaitility.Awaitility;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A Prometheus that scrapes one application each second, with the configuration and the
 * rules of the guide.
 */
final class Prometheus implements AutoCloseable {

	private static final Path CONFIGURATION = Path.of("src/docs/asciidoc/monitoring/prometheus.yaml");

	private static final Pattern LISTENING = Pattern.compile("msg=\"Listening on\".*address=127\\.0\\.0\\.1:(\\d+)");

	private final HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();

	private final Process process;

	private final Path log;

	private final URI uri;

	private Prometheus(Process process, Path log) {
		this.process = process;
		this.log = log;
		this.uri = Awaitility.await().atMost(Duration.ofSeconds(60)).until(this::address, (address) -> address != null);
	}

	static Prometheus start(Path directory, int applicationPort) throws IOException {
		String configuration = Files.readString(CONFIGURATION)
			.replace("localhost:8080", "127.0.0.1:" + applicationPort)
			.replace("15s", "3s");
		assertThat(configuration).contains("127.0.0.1:" + applicationPort).contains("scrape_interval: 3s");
		Files.writeString(directory.resolve("prometheus.yaml"), configuration);
		Files.copy(Rules.FILE, directory.resolve(Rules.FILE.getFileName()));
		Path log = directory.resolve("prometheus.log");
		Process process = new ProcessBuilder("prometheus", "--config.file=prometheus.yaml", "--storage.tsdb.path=data",
				"--web.listen-address=127.0.0.1:0")
			.directory(directory.toFile())
			.redirectErrorStream(true)
			.redirectOutput(log.toFile())
			.start();
		try {
			return new Prometheus(process, log);
		}
		catch (RuntimeException | Error ex) {
			process.destroyForcibly();
			throw ex;
		}
	}

	private URI address() throws IOException {
		String text = Files.readString(this.log);
		assertThat(this.process.isAlive()).as(text).isTrue();
		Matcher listening = LISTENING.matcher(text);
		return listening.find() ? URI.create("http://127.0.0.1:" + listening.group(1) + "/api/v1/") : null;
	}

	/** Returns the series that an expression selects at present. */
	JsonNode query(String expression) {
		return get("query?query=" + encode(expression)).path("result");
	}

	/** Returns the values of a label as Grafana's {@code label_values(...)} does. */
	JsonNode labelValues(String selector, String label) {
		return get("label/" + encode(label) + "/values?match%5B%5D=" + encode(selector));
	}

	/** Returns the rules and the results of their evaluation. */
	JsonNode rules() {
		return get("rules").path("groups").path(0).path("rules");
	}

	/**
	 * The alerts that are pending or firing.
	 */
	JsonNode alerts() {
		return get("alerts").path("alerts");
	}

	private JsonNode get(String path) {
		try {
			HttpResponse<String> response = this.client.send(
					HttpRequest.newBuilder(this.uri.resolve(path)).timeout(Duration.ofSeconds(30)).build(),
					HttpResponse.BodyHandlers.ofString());
			JsonNode answer = JsonMapper.shared().readTree(response.body());
			assertThat(answer.path("status").asString()).as("%s: %s", path, response.body()).isEqualTo("success");
			return answer.path("data");
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static String encode(String text) {
		return URLEncoder.encode(text, StandardCharsets.UTF_8);
	}

	@Override
	public void close() throws InterruptedException {
		this.process.destroy();
		if (!this.process.waitFor(30, TimeUnit.SECONDS)) {
			this.process.destroyForcibly().waitFor();
		}
	}

}
