package org.leaderfollowers.benchmarks.simulation;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.leaderfollowers.benchmarks.results.Measurement;
import org.leaderfollowers.benchmarks.results.Metric;
import org.leaderfollowers.benchmarks.results.Results;
import org.leaderfollowers.benchmarks.results.Scenario;
import org.leaderfollowers.benchmarks.results.Summary;

/**
 * How a simulation is kept among the results of a comparison, and what can be said about
 * it. Its rows are those of servers whose names begin with {@code simulation-}:
 * <ul>
 * <li>{@code simulation-measured-2p}: the engine as it was measured on two processors, in
 * a pass of the simulation's own;</li>
 * <li>{@code simulation-check-2p}: what was predicted for that;</li>
 * <li>{@code simulation-8p@2}: what is predicted for 8 processors and 2 handle sets, with
 * the load from outside.</li>
 * </ul>
 * Costs are facts about the run.
 */
public final class Findings {

	/** The published predictions: processor time of the handler in microseconds. */
	public static final List<Integer> HANDLERS = List.of(1, 5, 10, 20);

	/** Numbers of processors that are predicted. */
	public static final List<Integer> PROCESSORS = List.of(1, 2, 4, 8, 16, 32, 64);

	/**
	 * The number of processors for each handle set; the first value stands for one handle
	 * set for all.
	 */
	public static final List<Integer> PROCESSORS_PER_SET = List.of(1024, 16, 8, 4);

	/**
	 * Handlers that take at least this long must have no knee below
	 * {@link #GOAL_PROCESSORS}.
	 */
	public static final int GOAL_MICROS = 5;

	/** The number of processors up to which the goal applies. */
	public static final int GOAL_PROCESSORS = 32;

	/**
	 * A processor that does less than this share of the work of one of two processors is
	 * a knee.
	 */
	public static final double KNEE = 0.8;

	/** The connections of the check. */
	static final int CONNECTIONS = 64;

	private static final String PREFIX = "simulation-";

	private static final String MEASURED = PREFIX + "measured-";

	private static final Pattern PREDICTION = Pattern.compile(PREFIX + "(\\d+)p@(\\d+)");

	private final Costs costs;

	private final Results results;

	private Findings(Costs costs, Results results) {
		this.costs = costs;
		this.results = results;
	}

	/**
	 * Finds a simulation among results.
	 * @param facts the facts about the run
	 * @param results the results
	 * @return nothing if there is none
	 */
	public static Optional<Findings> of(Map<String, String> facts, Results results) {
		List<Measurement> own = results.measurements().stream().filter(Findings::isSimulation).toList();
		return own.isEmpty() ? Optional.empty() : Optional.of(new Findings(Costs.of(facts), new Results(own)));
	}

	/**
	 * Whether a row belongs to a simulation.
	 * @param measurement the row
	 * @return whether it does
	 */
	public static boolean isSimulation(Measurement measurement) {
		return measurement.server().startsWith(PREFIX);
	}

	/** Whether a row was measured for the check of a simulation. */
	static boolean isMeasured(Measurement measurement) {
		return measurement.server().startsWith(MEASURED);
	}

	static String measured(int processors) {
		return MEASURED + processors + "p";
	}

	static String checked(int processors) {
		return PREFIX + "check-" + processors + "p";
	}

	static Measurement prediction(int micros, int processors, int sets, double requestsPerSecond) {
		return new Measurement(Scenario.closed("cpu" + micros, Situation.remote(processors, sets, 0).connections()),
				PREFIX + processors + "p@" + sets, Measurement.SEPARATE_PASS,
				Map.of(Metric.REQUESTS_PER_SECOND, requestsPerSecond), 0, null);
	}

	/**
	 * What the steps of the engine cost.
	 * @return the costs
	 */
	public Costs costs() {
		return this.costs;
	}

	/**
	 * A load for which the prediction was compared with a measurement.
	 *
	 * @param scenario the load
	 * @param processors how many there were
	 * @param measured requests per second in the fastest round: whatever else the machine
	 * does, seen or unseen, can only make a server slower
	 * @param predicted what the simulation said about that round
	 * @param ratio of the prediction to the measurement, in each round
	 */
	public record Check(Scenario scenario, int processors, double measured, double predicted, Summary ratio) {

		/**
		 * How wrong the prediction was.
		 * @return the share of the measured value, above or below zero
		 */
		public double error() {
			return this.predicted / this.measured - 1;
		}

	}

	/**
	 * The comparisons with measurements.
	 * @return by the number of processors, then as they were measured
	 */
	public List<Check> checks() {
		List<Check> checks = new ArrayList<>();
		for (int processors : PROCESSORS) {
			for (Scenario scenario : this.results.scenarios()) {
				check(scenario, processors).ifPresent(checks::add);
			}
		}
		return checks;
	}

	private Optional<Check> check(Scenario scenario, int processors) {
		Map<Integer, Double> measured = requestsPerSecond(scenario, measured(processors));
		Map<Integer, Double> predicted = requestsPerSecond(scenario, checked(processors));
		return measured.keySet()
			.stream()
			.filter(predicted::containsKey)
			.max(Comparator.comparing(measured::get))
			.map((round) -> new Check(scenario, processors, measured.get(round), predicted.get(round),
					this.results.ratio(scenario, checked(processors), measured(processors), Metric.REQUESTS_PER_SECOND)
						.orElseThrow()));
	}

	private Map<Integer, Double> requestsPerSecond(Scenario scenario, String server) {
		Map<Integer, Double> byRound = new HashMap<>();
		for (Measurement row : this.results.measurements()) {
			Double value = row.value(Metric.REQUESTS_PER_SECOND);
			if (row.valid() && row.scenario().equals(scenario) && row.server().equals(server) && value != null) {
				byRound.put(row.round(), value);
			}
		}
		return byRound;
	}

	/**
	 * What is predicted.
	 * @param micros what the handler burns
	 * @param processors how many there are
	 * @param sets how many handle sets
	 * @return requests per second, or nothing if it was not simulated
	 */
	public Optional<Double> requestsPerSecond(int micros, int processors, int sets) {
		Measurement key = prediction(micros, processors, sets, 1);
		return this.results.summary(key.scenario(), key.server(), Metric.REQUESTS_PER_SECOND).map(Summary::median);
	}

	/**
	 * What a processor does, compared with one of two.
	 * @param micros what the handler burns
	 * @param processors how many there are
	 * @param sets how many handle sets
	 * @return 1 if it does as much, or nothing if it was not simulated
	 */
	public Optional<Double> efficiency(int micros, int processors, int sets) {
		return requestsPerSecond(micros, processors, sets)
			.flatMap((all) -> requestsPerSecond(micros, 2, 1).map((two) -> all / processors / (two / 2)));
	}

	/**
	 * The least number of processors of which each does too little.
	 * @param micros what the handler burns
	 * @param processorsPerSet processors for each handle set
	 * @return the processors, or nothing if there is no knee among those that were
	 * simulated
	 */
	public OptionalInt knee(int micros, int processorsPerSet) {
		return simulatedProcessors().stream()
			.filter((processors) -> processors > 2)
			.filter((processors) -> efficiency(micros, processors, sets(processors, processorsPerSet))
				.filter((efficiency) -> efficiency < KNEE)
				.isPresent())
			.mapToInt(Integer::intValue)
			.findFirst();
	}

	private TreeSet<Integer> simulatedProcessors() {
		TreeSet<Integer> processors = new TreeSet<>();
		for (Measurement measurement : this.results.measurements()) {
			Matcher prediction = PREDICTION.matcher(measurement.server());
			if (prediction.matches()) {
				processors.add(Integer.valueOf(prediction.group(1)));
			}
		}
		return processors;
	}

	/**
	 * The fewest handle sets with which there is no knee up to {@link #GOAL_PROCESSORS}
	 * for handlers of {@link #GOAL_MICROS} and more.
	 * @return processors for each handle set, or nothing if the goal is missed
	 */
	public OptionalInt recommendedProcessorsPerSet() {
		return PROCESSORS_PER_SET.stream()
			.filter((perSet) -> HANDLERS.stream()
				.filter((micros) -> micros >= GOAL_MICROS)
				.allMatch((micros) -> knee(micros, perSet).orElse(Integer.MAX_VALUE) > GOAL_PROCESSORS))
			.mapToInt(Integer::intValue)
			.findFirst();
	}

	/**
	 * The number of handle sets.
	 * @param processors how many processors there are
	 * @param processorsPerSet processors for each handle set
	 * @return at least 1
	 */
	public static int sets(int processors, int processorsPerSet) {
		return (processors + processorsPerSet - 1) / processorsPerSet;
	}

}
