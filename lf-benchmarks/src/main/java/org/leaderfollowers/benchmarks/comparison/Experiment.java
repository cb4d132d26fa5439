package org.leaderfollowers.benchmarks.comparison;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.benchmarks.load.Load;
import org.leaderfollowers.benchmarks.load.LoadResult;
import org.leaderfollowers.benchmarks.results.Measurement;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.Scenario;

/**
 * All scenarios with the same work. The servers are started once and live until the end;
 * while another server is measured, they have no connections and cost nothing. In every
 * round, and for every scenario, each server is measured once, in an order that changes.
 */
final class Experiment {

	private static final Path PROC = Path.of("/proc");

	private static final boolean LINUX = Files.exists(PROC.resolve("self/stat"));

	/**
	 * Time for the load to settle, and for code that was compiled for another load to be
	 * compiled again.
	 */
	private static final double LONGEST_SETTLING = 0.5;

	/**
	 * With thousands of threads, starting and ending the trace takes longer than the
	 * measurement.
	 */
	private static final int MOST_TRACED_CONNECTIONS = 1000;

	private static final int MOST_ATTEMPTS = 5;

	private static final double MICRO = 1e6;

	private static final double NANOS_PER_MICRO = 1e3;

	/** Metrics that are counted for a process and divided by the number of requests. */
	private static final List<Metric> COSTS = List.of(Metric.CPU_US, Metric.ALLOCATED_BYTES, Metric.VOLUNTARY_SWITCHES,
			Metric.INVOLUNTARY_SWITCHES);

	private final Plan plan;

	private final String work;

	private final Settings settings;

	private final Generator generator;

	private final Optional<SystemCalls> systemCalls;

	private final Protocol protocol;

	private final Map<String, Server> servers = new LinkedHashMap<>();

	/** Keeps the neighbours busy. {@code null} unless the work is mixed. */
	private @Nullable Generator neighbours;

	/** Servers that could not be started. */
	private final Set<String> unusable = new HashSet<>();

	/** Servers that failed, by scenario. */
	private final Map<Scenario, Set<String>> failed = new HashMap<>();

	Experiment(Plan plan, String work, Settings settings, Generator generator, Optional<SystemCalls> systemCalls,
			Protocol protocol) {
		this.plan = plan;
		this.work = work;
		this.settings = settings;
		this.generator = generator;
		this.systemCalls = systemCalls;
		this.protocol = protocol;
	}

	void run() {
		List<Scenario> idle = this.plan.scenarios(this.work).stream().filter(Scenario::idle).toList();
		List<Scenario> scenarios = new ArrayList<>(this.plan.scenarios(this.work));
		scenarios.removeAll(idle);
		try {
			// Idle connections come first: after a load, a server may keep memory for its
			// next clients
			idle.forEach((scenario) -> each(scenario, 0, (server) -> measureIdle(scenario, server)));
			scenarios.forEach((scenario) -> each(scenario, 0, (server) -> warmUp(scenario, server, settling())));
			for (int i = 0; i < this.settings.rounds(); i++) {
				int round = i;
				scenarios.forEach((scenario) -> each(scenario, round,
						(server) -> this.protocol.add(measureInQuiet(scenario, server, round))));
			}
			this.systemCalls.ifPresent((tool) -> scenarios
				.forEach((scenario) -> each(scenario, 0, (server) -> countSystemCalls(scenario, server, tool))));
		}
		finally {
			this.servers.values().forEach(Server::close);
			if (this.neighbours != null) {
				this.neighbours.close();
			}
		}
	}

	/**
	 * Do something with each server of a scenario. A server that fails is left out of the
	 * scenario, and is started again for the next scenario.
	 */
	private void each(Scenario scenario, int round, Task task) {
		for (String name : inTurn(this.plan.servers(scenario), round)) {
			if (!this.unusable.contains(name) && !failed(scenario).contains(name)) {
				try {
					task.perform(running(name));
				}
				catch (IOException ex) {
					Server server = this.servers.remove(name);
					if (server != null) {
						server.close();
						failed(scenario).add(name);
						this.protocol.leaveOut(name + ", " + scenario.title(), ex);
					}
					else {
						this.unusable.add(name);
						this.protocol.leaveOut(name, ex);
					}
				}
			}
		}
	}

	/**
	 * Returns the servers in the order of a round: two rounds go forwards and backwards,
	 * and the next two begin one server later. In this way, each of two servers comes
	 * first equally often.
	 */
	static List<String> inTurn(List<String> names, int round) {
		List<String> inTurn = new ArrayList<>(names);
		Collections.rotate(inTurn, -(round / 2));
		if (round % 2 != 0) {
			Collections.reverse(inTurn);
		}
		return inTurn;
	}

	private Set<String> failed(Scenario scenario) {
		return this.failed.computeIfAbsent(scenario, (key) -> new HashSet<>());
	}

	private Server running(String name) throws IOException {
		Server server = this.servers.get(name);
		if (server == null) {
			server = Server.start(name, this.work, this.settings);
			this.servers.put(name, server);
			// The first request for statistics loads classes, whose cost must not be
			// attributed to requests
			server.statistics(false);
			warmUp(Scenario.closed(this.work, 64), server, this.settings.warmup());
			if (server.neighbourPort() > 0) {
				neighbours().run(neighbourLoad(server, this.settings.warmup()));
			}
		}
		return server;
	}

	/**
	 * Warms up in a closed loop: at a low rate, it would take minutes until everything is
	 * compiled.
	 */
	private void warmUp(Scenario scenario, Server server, double seconds) throws IOException {
		this.generator
			.run(load(new Scenario(this.work, scenario.connections(), scenario.payload(), scenario.pipeline(), 0),
					server.port(), 0, seconds));
	}

	private double settling() {
		return Math.min(LONGEST_SETTLING, this.settings.seconds());
	}

	private Measurement measureInQuiet(Scenario scenario, Server server, int round) throws IOException {
		Measurement quietest = measure(scenario, server, round);
		for (int i = 1; i < MOST_ATTEMPTS && quietest.valid() && isDisturbed(quietest); i++) {
			Measurement next = measure(scenario, server, round);
			// A failed measurement must be reported, not replaced
			if (!next.valid()) {
				return next;
			}
			quietest = (others(next) < others(quietest)) ? next : quietest;
		}
		return quietest;
	}

	private boolean isDisturbed(Measurement measurement) {
		return others(measurement) > this.settings.quietPercent();
	}

	private static double others(Measurement measurement) {
		return measurement.values().getOrDefault(Metric.OTHERS_PERCENT, 0.0);
	}

	private Measurement measure(Scenario scenario, Server server, int round) throws IOException {
		return scenario.mixed() ? measureMixed(scenario, server, round) : measureOne(scenario, server, round);
	}

	/**
	 * Measures first without the neighbour's load, then with it. The neighbour's
	 * connections exist as long as the others.
	 */
	private Measurement measureMixed(Scenario scenario, Server server, int round) throws IOException {
		Measurement alone = measureOne(scenario, server, round);
		if (!alone.valid()) {
			return alone;
		}
		List<Measurement> beside = new ArrayList<>();
		LoadResult neighbour = neighbours().run(neighbourLoad(server, settling() + this.settings.seconds()),
				() -> beside.add(measureOne(scenario, server, round)), () -> {
				});
		Measurement mixed = beside.get(0);
		Map<Metric, Double> values = new EnumMap<>(mixed.values());
		// The costs cannot be divided between the two kinds of requests
		COSTS.forEach(values::remove);
		values.put(Metric.P99_TO_ALONE, mixed.values().get(Metric.P99_US) / alone.values().get(Metric.P99_US));
		values.put(Metric.NEIGHBOUR_REQUESTS_PER_SECOND, neighbour.requestsPerSecond());
		values.computeIfPresent(Metric.OTHERS_PERCENT, (metric, percent) -> Math.max(percent, others(alone)));
		return new Measurement(scenario, server.name(), round, values,
				alone.errors() + mixed.errors() + neighbour.errors(), mixed.latencyNs());
	}

	private Generator neighbours() throws IOException {
		if (this.neighbours == null) {
			this.neighbours = new Generator(this.settings.log(), this.settings.warmup());
		}
		return this.neighbours;
	}

	private Load neighbourLoad(Server server, double seconds) {
		Scenario scenario = Scenario.closed(this.work, this.settings.neighbourConnections());
		return load(scenario, server.neighbourPort(), 0, seconds);
	}

	private Measurement measureOne(Scenario scenario, Server server, int round) throws IOException {
		Observation start = new Observation(server);
		Observation end = new Observation(server);
		// The statistics of the JVM are requested outside of the period in which the
		// system counts
		LoadResult result = this.generator.run(load(scenario, server.port(), settling(), this.settings.seconds()),
				() -> {
					start.readStatistics();
					start.readSystem();
				}, () -> {
					end.readSystem();
					end.readStatistics();
				});
		Map<Metric, Double> values = new EnumMap<>(Metric.class);
		double rate = result.requestsPerSecond();
		values.put(Metric.REQUESTS_PER_SECOND, rate);
		values.put(Metric.P50_US, result.latencyUs(50));
		values.put(Metric.P99_US, result.latencyUs(99));
		values.put(Metric.P999_US, result.latencyUs(99.9));
		values.put(Metric.MAX_US, result.latencyUs(100));
		values.put(Metric.THREADS, end.statistic("threads"));
		if (scenario.rate() > 0) {
			values.put(Metric.UNSENT, (double) result.unsent());
			values.put(Metric.GENERATOR_LATENESS_P99_US,
					result.latenessNs().getValueAtPercentile(99) / NANOS_PER_MICRO);
		}
		if (result.requests() > 0) {
			values.put(Metric.ALLOCATED_BYTES,
					(end.statistic("allocated") - start.statistic("allocated")) / result.requests());
			values.put(Metric.GENERATOR_CPU_US, result.cpuSeconds() / result.requests() * MICRO);
			end.addRates(values, start, rate);
		}
		return new Measurement(scenario, server.name(), round, values, result.errors(), result.latencyNs());
	}

	private void measureIdle(Scenario scenario, Server server) throws IOException {
		Observation before = new Observation(server);
		Observation after = new Observation(server);
		Observation quiet = new Observation(server);
		before.collectGarbage();
		long errors = this.generator.idle(load(scenario, server.port(), 0, 0), () -> {
			after.collectGarbage();
			quiet.readSystem();
			pause(this.settings.seconds());
			after.readSystem();
		});
		Map<Metric, Double> values = new EnumMap<>(Metric.class);
		values.put(Metric.IDLE_HEAP_BYTES,
				(after.statistic("heap") - before.statistic("heap")) / scenario.connections());
		values.put(Metric.IDLE_DIRECT_BYTES,
				(after.statistic("direct") - before.statistic("direct")) / scenario.connections());
		values.put(Metric.THREADS, after.statistic("threads"));
		after.cpuSecondsSince(quiet).ifPresent((cpu) -> values.put(Metric.IDLE_CPU_PERCENT, 100 * cpu));
		this.protocol.add(new Measurement(scenario, server.name(), Measurement.SEPARATE_PASS, values, errors, null));
	}

	private static void pause(double seconds) throws IOException {
		try {
			Thread.sleep((long) (seconds * 1000));
		}
		catch (InterruptedException ex) {
			throw new InterruptedIOException("Interrupted while a server was idle");
		}
	}

	private void countSystemCalls(Scenario scenario, Server server, SystemCalls tool) throws IOException {
		if (scenario.connections() > MOST_TRACED_CONNECTIONS || scenario.mixed()) {
			return;
		}
		List<LoadResult> results = new ArrayList<>();
		Optional<SystemCalls.Count> count = tool.count(server.pid(),
				() -> results.add(this.generator.run(load(scenario, server.port(), 0, this.settings.seconds() / 2))));
		if (count.isPresent() && results.get(0).total() > 0) {
			double requests = results.get(0).total();
			Map<Metric, Double> values = Map.of(Metric.SYSTEM_CALLS, count.get().all() / requests, Metric.FUTEX_CALLS,
					count.get().futex() / requests);
			this.protocol.add(new Measurement(scenario, server.name(), Measurement.SEPARATE_PASS, values,
					results.get(0).errors(), null));
		}
	}

	/** Each idle connection sends one request, and no more. */
	private static Load load(Scenario scenario, int port, double warmup, double seconds) {
		return new Load("127.0.0.1", port, scenario.connections(), Math.max(1, scenario.pipeline()), scenario.payload(),
				scenario.rate(), warmup, seconds, Load.DEFAULT_TIMEOUT);
	}

	/** The counters of a server at one moment. */
	private final class Observation {

		private final Server server;

		private Map<String, Long> statistics = Map.of();

		private Optional<ProcessSample> process = Optional.empty();

		private Optional<OtherProcesses> others = Optional.empty();

		private Observation(Server server) {
			this.server = server;
		}

		private void readStatistics() throws IOException {
			this.statistics = this.server.statistics(false);
		}

		private void collectGarbage() throws IOException {
			this.statistics = this.server.statistics(true);
		}

		private void readSystem() throws IOException {
			if (LINUX) {
				this.process = Optional.of(ProcessSample.read(PROC.resolve(Long.toString(this.server.pid()))));
				Set<Long> ours = new HashSet<>(
						Set.of(this.server.pid(), Experiment.this.generator.pid(), ProcessHandle.current().pid()));
				if (Experiment.this.neighbours != null) {
					ours.add(Experiment.this.neighbours.pid());
				}
				this.others = Optional.of(OtherProcesses.read(PROC, ours));
			}
		}

		private Optional<Double> cpuSecondsSince(Observation start) {
			return this.process.flatMap((now) -> start.process.map((earlier) -> now.since(earlier).cpuSeconds()));
		}

		private double statistic(String name) {
			return this.statistics.get(name);
		}

		/**
		 * Adds the counts between two observations. They are divided by the rate of the
		 * requests, not by their number, because the observations happen a little after
		 * the beginning and the end of the period.
		 */
		private void addRates(Map<Metric, Double> values, Observation start, double requestsPerSecond) {
			if (this.process.isPresent() && start.process.isPresent()) {
				ProcessSample.Rate rate = this.process.get().since(start.process.get());
				values.put(Metric.CPU_US, rate.cpuSeconds() / requestsPerSecond * MICRO);
				values.put(Metric.VOLUNTARY_SWITCHES, rate.voluntarySwitches() / requestsPerSecond);
				values.put(Metric.INVOLUNTARY_SWITCHES, rate.involuntarySwitches() / requestsPerSecond);
			}
			if (this.others.isPresent() && start.others.isPresent()) {
				values.put(Metric.OTHERS_PERCENT,
						this.others.get().percentSince(start.others.get(), Runtime.getRuntime().availableProcessors()));
			}
		}

	}

	/** Receives everything that happens. */
	interface Protocol {

		void add(Measurement measurement);

		void leaveOut(String what, IOException reason);

	}

	/** An action with a server. */
	private interface Task {

		void perform(Server server) throws IOException;

	}

}
