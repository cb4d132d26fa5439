package org.leaderfollowers.sample;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The resources that a {@link SampleProcess} holds, as its endpoints and the system show
 * them. After a fault the sample must return to the state before: one leader for each
 * handle set, all handles active, and descriptors, threads and memory as before.
 *
 * @param disorder why the sample is not at rest; empty if it is
 * @param handles how many handles are registered, by pool
 * @param openConnections how many connections are open, by server
 * @param threads how many threads there are, by name without its digits
 * @param descriptors how many descriptors are open
 * @param directBytes the size of all direct buffers
 * @param heapBytes the heap in use after a collection
 */
record SampleState(List<String> disorder, Map<String, Integer> handles, Map<String, Integer> openConnections,
		Map<String, Integer> threads, int descriptors, long directBytes, long heapBytes) {

	/** The exposure of the endpoints that this needs, and pools that soon shrink. */
	static final List<String> ARGUMENTS = List.of("--management.endpoints.web.exposure.include=*",
			"--management.endpoint.health.show-details=always", "--lf.pool.threads.keep-alive=1s",
			"--lf.pools.backend.threads.keep-alive=1s", "--lf.pools.tellers.threads.keep-alive=1s",
			"--lf.pools.conversations.threads.keep-alive=1s");

	private static final Duration DEADLINE = Duration.ofSeconds(120);

	/** Libraries may open files and connections when it pleases them. */
	private static final int DESCRIPTOR_TOLERANCE = 5;

	/** The JDK and the libraries create some objects when they like. */
	private static final long HEAP_TOLERANCE = 2_000_000;

	private static final long DIRECT_TOLERANCE = 500_000;

	/**
	 * Threads that the libraries of the database start when they need one, and end later.
	 */
	private static final Pattern ON_DEMAND = Pattern.compile("HikariPool.*connection.(adder|closer)|PostgreSQL-JDBC.*");

	private static final Pattern HTTP_PORT = Pattern.compile("Tomcat started on port (\\d+)");

	/** One client, whose connection to the sample stays open. */
	private static final HttpClient http = HttpClient.newHttpClient();

	/** Waits until the sample is at rest, and returns its state. */
	static SampleState atRest(SampleProcess sample) {
		// The first time it costs memory and threads to look.
		of(sample);
		return Awaitility.await()
			.atMost(DEADLINE)
			.until(() -> of(sample), (state) -> state.disorder.isEmpty()
					&& state.threads.keySet().stream().noneMatch((name) -> ON_DEMAND.matcher(name).matches()));
	}

	/** Waits until the sample has no more than before. */
	static void assertReturnedTo(SampleState before, SampleProcess sample) {
		Awaitility.await().atMost(DEADLINE).untilAsserted(() -> assertThat(of(sample).deviations(before)).isEmpty());
	}

	static SampleState of(SampleProcess sample) {
		long heap = collectGarbage(sample.process());
		List<String> disorder = new ArrayList<>();
		Map<String, Integer> handles = new TreeMap<>();
		Map<String, Integer> connections = new TreeMap<>();
		JsonNode all = get(sample, "leaderfollowers");
		all.at("/pools").forEachEntry((name, pool) -> {
			describeDisorder(disorder, name, pool);
			int registered = 0;
			for (JsonNode set : pool.at("/handleSets")) {
				registered += set.at("/handles/registered").asInt();
			}
			handles.put(name, registered);
		});
		all.at("/servers").forEachEntry((name, server) -> {
			JsonNode counts = server.at("/connections");
			connections.put(name, counts.at("/open").asInt());
			long unaccounted = counts.at("/accepted").asLong() - counts.at("/open").asLong();
			for (JsonNode closed : counts.at("/closed")) {
				unaccounted -= closed.asLong();
			}
			describe(disorder, unaccounted != 0, "%d connections of '%s' ended without a reason", unaccounted, name);
			describe(disorder, counts.at("/acceptingSuspended").asBoolean(), "accepting of '%s' is interrupted", name);
		});
		JsonNode health = get(sample, "health");
		describe(disorder, !health.at("/status").asString().equals("UP"), "health: %s", health);
		return new SampleState(disorder, handles, connections, countThreads(get(sample, "threaddump")),
				countDescriptors(sample.process()),
				get(sample, "metrics/jvm.buffer.memory.used?tag=id:direct").at("/measurements/0/value").asLong(), heap);
	}

	private static void describeDisorder(List<String> disorder, String name, JsonNode pool) {
		int leaders = 0;
		for (JsonNode set : pool.at("/handleSets")) {
			boolean led = set.at("/leader").isString();
			leaders += led ? 1 : 0;
			boolean used = set.at("/inUse").asBoolean() || set.at("/handles/registered").asInt() > 0;
			describe(disorder, used && !led, "no leader in pool '%s': %s", name, set);
			describe(disorder, set.at("/handles/deactivated").asInt() > 0, "deactivated handles in pool '%s': %s", name,
					set);
		}
		for (JsonNode source : pool.at("/eventSources")) {
			boolean led = source.at("/leader").isString();
			leaders += led ? 1 : 0;
			describe(disorder, source.at("/inUse").asBoolean() && !led, "no leader in pool '%s': %s", name, source);
		}
		describe(disorder, pool.at("/roles/LEADER").asInt() != leaders, "leaders of pool '%s': %s", name, pool);
		describe(disorder, pool.at("/roles/PROCESSING").asInt() > 0, "busy threads in pool '%s'", name);
		describe(disorder, pool.at("/bufferedBytes").asLong() != 0, "buffered bytes in pool '%s'", name);
		describe(disorder, pool.at("/threads").size() != pool.at("/configuration/threads/min").asInt(),
				"pool '%s' has %d threads", name, pool.at("/threads").size());
	}

	private static void describe(List<String> disorder, boolean present, String format, Object... arguments) {
		if (present) {
			disorder.add(format.formatted(arguments));
		}
	}

	private static Map<String, Integer> countThreads(JsonNode dump) {
		Map<String, Integer> counts = new TreeMap<>();
		for (JsonNode thread : dump.at("/threads")) {
			counts.merge(thread.at("/threadName").asString().replaceAll("\\d+", "#"), 1, Integer::sum);
		}
		return counts;
	}

	private static int countDescriptors(Process process) {
		try (Stream<Path> files = Files.list(Path.of("/proc/%d/fd".formatted(process.pid())))) {
			return (int) files.count();
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
	}

	/** Returns the size of all objects that are left. */
	private static long collectGarbage(Process process) {
		try {
			Process jcmd = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
					Long.toString(process.pid()), "GC.class_histogram")
				.redirectErrorStream(true)
				.start();
			jcmd.getOutputStream().close();
			String output = new String(jcmd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
			Matcher total = Pattern.compile("(?m)^Total +\\d+ +(\\d+)").matcher(output);
			assertThat(total.find()).as(output).isTrue();
			return Long.parseLong(total.group(1));
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
	}

	/** Asks an endpoint, which must answer. */
	static JsonNode get(SampleProcess sample, String endpoint) {
		try {
			Matcher port = HTTP_PORT.matcher(Files.readString(sample.output()));
			assertThat(port.find()).isTrue();
			URI uri = URI.create("http://127.0.0.1:%s/actuator/%s".formatted(port.group(1), endpoint));
			return JsonMapper.shared()
				.readTree(http
					.send(HttpRequest.newBuilder(uri).header("Accept", "application/json").timeout(DEADLINE).build(),
							HttpResponse.BodyHandlers.ofString())
					.body());
		}
		catch (IOException ex) {
			throw new AssertionError("The endpoint '%s' did not answer".formatted(endpoint), ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	/** Returns in what this state is worse than an earlier one. */
	List<String> deviations(SampleState before) {
		List<String> deviations = new ArrayList<>(this.disorder);
		compare(deviations, "handles of pool", before.handles, this.handles);
		compare(deviations, "connections of server", before.openConnections, this.openConnections);
		compare(deviations, "threads", before.threads, this.threads);
		compare(deviations, "descriptors", before.descriptors, this.descriptors, DESCRIPTOR_TOLERANCE);
		compare(deviations, "direct memory", before.directBytes, this.directBytes, DIRECT_TOLERANCE);
		compare(deviations, "heap", before.heapBytes, this.heapBytes, HEAP_TOLERANCE);
		return deviations;
	}

	private static void compare(List<String> deviations, String kind, Map<String, Integer> before,
			Map<String, Integer> now) {
		now.forEach((name, count) -> compare(deviations, "%s '%s'".formatted(kind, name), before.getOrDefault(name, 0),
				count, ON_DEMAND.matcher(name).matches() ? 1 : 0));
	}

	private static void compare(List<String> deviations, String name, long before, long now, long tolerance) {
		if (now > before + tolerance) {
			deviations.add("%s: %d at first, %d now".formatted(name, before, now));
		}
	}

}
