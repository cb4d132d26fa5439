package org.leaderfollowers.benchmarks.comparison;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.leaderfollowers.benchmarks.results.Scenario;
import org.leaderfollowers.benchmarks.results.Servers;

/**
 * Which servers are measured in which scenarios.
 */
final class Plan {

	private static final List<String> CPU_WORKS = List.of("none", "cpu2", "cpu5", "cpu10", "cpu20", "cpu50");

	/** Not all works of the goals: one of each kind. */
	private static final List<String> WORKS = List.of("none", "cpu20", "block5pct2ms", "block100pct1ms");

	private static final List<Integer> CONNECTIONS = List.of(1, 8, 64, 1000, 10_000);

	private static final List<Integer> RATES = List.of(2000, 20_000, 60_000);

	private static final List<Integer> PAYLOADS = List.of(64, 4096, 65_536);

	private static final Scenario ECHO = Scenario.closed("none", 64);

	private static final Scenario BLOCKING = Scenario.closed("block5pct2ms", 64);

	private static final Scenario IDLE = Scenario.idle(10_000);

	private final Map<Scenario, Set<String>> servers = new LinkedHashMap<>();

	/**
	 * A plan from the names of presets.
	 * @param presets the names
	 * @return all of them in one
	 */
	static Plan of(List<String> presets) {
		Plan plan = new Plan();
		for (String preset : presets) {
			switch (preset) {
				case "quick" -> plan.quick();
				case "goals" -> plan.goals();
				case "paper" -> plan.paper();
				case "connections" -> plan.connections();
				case "full" -> plan.full();
				default -> throw new IllegalArgumentException(
						"No preset '" + preset + "'; there are quick, goals, paper, connections and full");
			}
		}
		return plan;
	}

	Plan add(Scenario scenario, List<String> names) {
		this.servers.computeIfAbsent(scenario, (key) -> new LinkedHashSet<>()).addAll(names);
		return this;
	}

	/** About three minutes, to see whether a change is an improvement. */
	private void quick() {
		List<String> names = List.of(Servers.ADAPTIVE, Servers.EAGER, Servers.NIO, Servers.NETTY, Servers.HALF_SYNC,
				Servers.VIRTUAL);
		add(ECHO, names);
		add(Scenario.open("none", 64, 20_000), names);
		add(BLOCKING, names);
	}

	/** The loads of the engine's performance goals: about seventy minutes. */
	private void goals() {
		List<String> netty = List.of(Servers.NETTY, Servers.NETTY_ONE_LOOP, Servers.NETTY_TWO_LOOPS);
		add(IDLE, List.of(Servers.ADAPTIVE, Servers.NIO, Servers.NETTY, Servers.VIRTUAL));
		for (String work : CPU_WORKS) {
			add(Scenario.closed(work, 64), List.of(Servers.ADAPTIVE, Servers.NIO));
			add(Scenario.closed(work, 64), netty);
			add(Scenario.closed(work, 64), List.of(Servers.NETTY_EXECUTOR, Servers.VIRTUAL, Servers.THREADS));
		}
		add(ECHO, List.of(Servers.ON_MESSAGE, Servers.SPRING, Servers.METERED));
		for (Scenario scenario : List.of(Scenario.open("none", 64, 20_000), Scenario.open("none", 64, 60_000),
				Scenario.open("cpu10", 64, 20_000), Scenario.open("cpu10", 64, 60_000),
				Scenario.closed("none", 10_000))) {
			add(scenario, List.of(Servers.ADAPTIVE, Servers.NIO));
			add(scenario, netty);
		}
		for (String work : List.of("block5pct2ms", "block100pct1ms")) {
			add(Scenario.closed(work, 64),
					List.of(Servers.ADAPTIVE, Servers.VIRTUAL, Servers.THREADS, Servers.NETTY_EXECUTOR));
		}
		for (String work : List.of("mixed-cpu50", "mixed-block100pct5ms")) {
			add(Scenario.closed(work, 64), List.of(Servers.ADAPTIVE, Servers.NETTY, Servers.NETTY_TWO_LOOPS,
					Servers.NETTY_EXECUTOR, Servers.VIRTUAL));
		}
	}

	/** The claims of the paper. */
	private void paper() {
		List<String> names = List.of(Servers.EAGER, Servers.ADAPTIVE, Servers.TEXTBOOK, Servers.HALF_SYNC);
		add(ECHO, names);
		add(ECHO, List.of(Servers.NIO, Servers.EAGER_TWO_SETS));
		add(Scenario.open("none", 64, 20_000), names);
		add(Scenario.open("none", 64, 20_000), List.of(Servers.NIO));
		add(BLOCKING, names);
	}

	/** How throughput changes with the number of connections. */
	private void connections() {
		for (int connections : CONNECTIONS) {
			add(Scenario.closed("none", connections), Servers.ALL);
		}
	}

	/**
	 * The loads of the goals, and all servers with every value of every dimension. Not
	 * all combinations, which would take days: the payload and the pipelining are varied
	 * without work, without a rate and with few connections.
	 */
	private void full() {
		goals();
		add(IDLE, Servers.ALL);
		for (String work : WORKS) {
			for (int connections : CONNECTIONS) {
				add(Scenario.closed(work, connections), Servers.ALL);
				for (int rate : RATES) {
					add(Scenario.open(work, connections, rate), Servers.ALL);
				}
			}
		}
		for (int payload : PAYLOADS) {
			add(new Scenario("none", 64, payload, 1, 0), Servers.ALL);
			add(new Scenario("none", 64, payload, 16, 0), Servers.ALL);
		}
		for (int connections : CONNECTIONS) {
			add(new Scenario("none", connections, 64, 16, 0), Servers.ALL);
		}
	}

	/**
	 * The works that handlers are given.
	 * @return the works in the order of the scenarios
	 */
	List<String> works() {
		return this.servers.keySet().stream().map(Scenario::work).distinct().toList();
	}

	/**
	 * The scenarios of a work: they can be measured with the same servers.
	 * @param work the work
	 * @return its scenarios
	 */
	List<Scenario> scenarios(String work) {
		return this.servers.keySet().stream().filter((scenario) -> scenario.work().equals(work)).toList();
	}

	List<String> servers(Scenario scenario) {
		return List.copyOf(this.servers.getOrDefault(scenario, Set.of()));
	}

	/**
	 * The same plan with fewer servers.
	 * @param names the servers that remain; all, if there are none
	 * @return the plan
	 */
	Plan only(List<String> names) {
		if (names.isEmpty()) {
			return this;
		}
		Plan plan = new Plan();
		this.servers.forEach((scenario, all) -> {
			List<String> remaining = new ArrayList<>(all);
			remaining.retainAll(names);
			plan.add(scenario, remaining);
		});
		return plan;
	}

}
