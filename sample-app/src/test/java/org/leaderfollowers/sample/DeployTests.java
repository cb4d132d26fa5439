package org.leaderfollowers.sample;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.CloseRate;
import org.yaml.snakeyaml.Yaml;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.io.FileSystemResource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * The files of the folder {@code deploy} are valid and belong together. No container is
 * started.
 */
class DeployTests {

	private static final Path DEPLOY = Path.of("deploy");

	@SuppressWarnings("unchecked")
	private static Map<String, Object> yaml(Path file) throws IOException {
		return (Map<String, Object>) new Yaml().load(Files.readString(file));
	}

	@SuppressWarnings("unchecked")
	private static Map<String, Object> services() throws IOException {
		return (Map<String, Object>) yaml(DEPLOY.resolve("compose.yaml")).get("services");
	}

	@SuppressWarnings("unchecked")
	private static <T> T of(String service, String key) throws IOException {
		Map<String, Object> properties = (Map<String, Object>) services().get(service);
		assertThat(properties).as(service).containsKey(key);
		return (T) properties.get(key);
	}

	/** Runs a program of the machine, or skips the test if it is not installed. */
	private static String run(Path program, String... arguments) throws IOException, InterruptedException {
		assumeTrue(Files.isExecutable(program), "no " + program);
		List<String> command = new ArrayList<>(List.of(program.toString()));
		command.addAll(List.of(arguments));
		Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
		process.getOutputStream().close();
		String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
		assertThat(process.exitValue()).as(output).isZero();
		return output;
	}

	private static Path program(String name) {
		String path = System.getenv().getOrDefault("PATH", "") + File.pathSeparator + "/usr/sbin";
		return Stream.of(path.split(File.pathSeparator))
			.map((directory) -> Path.of(directory, name))
			.filter(Files::isExecutable)
			.findFirst()
			.orElse(Path.of(name));
	}

	/**
	 * The program has the JSON schema of the Compose specification, and needs no daemon.
	 */
	@Test
	void theComposeFileConformsToItsSchema() throws Exception {
		String resolved = run(program("docker-compose"), "-f", DEPLOY.resolve("compose.yaml").toString(), "config");
		assertThat(resolved).contains("node1", "node2", "haproxy", "postgres", "prometheus", "grafana");
	}

	@Test
	void haproxyAcceptsItsConfiguration() throws Exception {
		assertThat(run(program("haproxy"), "-c", "-f", DEPLOY.resolve("haproxy.cfg").toString()))
			.contains("Configuration file is valid");
	}

	@Test
	void promtoolAcceptsTheConfigurationOfPrometheus() throws Exception {
		assertThat(run(program("promtool"), "check", "config", "--syntax-only",
				DEPLOY.resolve("prometheus.yaml").toString()))
			.contains("SUCCESS");
	}

	@Test
	void everyMountedFileExists() throws IOException {
		Map<String, Object> services = services();
		List<String> files = new ArrayList<>();
		for (String service : services.keySet()) {
			if (services.get(service) instanceof Map<?, ?> properties
					&& properties.get("volumes") instanceof List<?> list) {
				list.stream()
					.map((volume) -> volume.toString().split(":")[0])
					.filter((source) -> source.startsWith("."))
					.forEach(files::add);
			}
		}
		assertThat(files).hasSize(6).allSatisfy((file) -> assertThat(DEPLOY.resolve(file)).isRegularFile());
	}

	@Test
	void namesAndPortsAgree() throws IOException {
		String haproxy = Files.readString(DEPLOY.resolve("haproxy.cfg"));
		Map<String, Object> prometheus = yaml(DEPLOY.resolve("prometheus.yaml"));
		assertThat(haproxy).contains("check port %s ".formatted(property("server.port")), "send-proxy-v2",
				"bind :7070\n", "bind :7074\n");
		for (String node : List.of("node1", "node2")) {
			assertThat(services()).containsKey(node);
			assertThat(haproxy).contains("server %1$s %1$s:%2$s\n".formatted(node, property("lf.server.port")));
			assertThat(haproxy)
				.contains("server %1$s %1$s:%2$s\n".formatted(node, property("lf.servers.readers.port")));
			assertThat(prometheus.toString()).contains("%s:%s".formatted(node, property("server.port")));
			assertThat(DeployTests.<Map<String, String>>of(node, "environment").get("LF_CLUSTER_HAZELCAST_MEMBERS"))
				.contains(node);
		}
		assertThat(DeployTests.<List<String>>of("haproxy", "ports")).containsExactly("7070:7070", "7074:7074");
		assertThat(yaml(DEPLOY.resolve("grafana/datasources.yaml")).toString()).contains("http://prometheus:9090");
		assertThat(DeployTests.<List<String>>of("grafana", "volumes").toString())
			.contains(":/var/lib/grafana/dashboards/leader-followers-dashboard.json:ro");
		assertThat(yaml(DEPLOY.resolve("grafana/dashboards.yaml")).toString()).contains("/var/lib/grafana/dashboards");
	}

	/**
	 * HAProxy notices readiness before a node closes its port, and Docker waits for the
	 * end.
	 */
	@Test
	void theNodesHaveEnoughTimeToStop() throws IOException {
		Map<String, String> environment = of("node1", "environment");
		Duration delay = DurationStyle.detectAndParse(environment.get("LF_SHUTDOWN_DELAY"));
		Duration phase = DurationStyle.detectAndParse(environment.get("SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE"));
		assertThat(Files.readString(DEPLOY.resolve("haproxy.cfg"))).contains(" inter 2s fall 2 ");
		assertThat(delay).isGreaterThan(Duration.ofSeconds(4));
		assertThat(DurationStyle.detectAndParse(of("node1", "stop_grace_period"))).isGreaterThan(delay.plus(phase));
		assertThat(CloseRate.of(environment.get("LF_SHUTDOWN_CLOSE_RATE")).timeFor(2000)).isLessThan(phase);
	}

	private static String property(String name) throws IOException {
		return new YamlPropertySourceLoader()
			.load("application", new FileSystemResource("src/main/resources/application.yaml"))
			.stream()
			.map((source) -> source.getProperty(name))
			.filter(Objects::nonNull)
			.findFirst()
			.orElseThrow()
			.toString();
	}

}
