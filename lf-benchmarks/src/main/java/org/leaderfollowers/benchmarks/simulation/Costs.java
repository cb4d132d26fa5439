package org.leaderfollowers.benchmarks.simulation;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * The costs of the steps of the engine.
 *
 * @param nanos nanoseconds by step; a step that is not in it costs nothing
 */
public record Costs(Map<Cost, Double> nanos) {

	/** Facts about a run that begin with this are costs. */
	private static final String FACT = "cost ";

	public Costs {
		nanos = Map.copyOf(nanos);
	}

	/**
	 * The cost of a step.
	 * @param cost the step
	 * @return nanoseconds
	 */
	public double of(Cost cost) {
		return this.nanos.getOrDefault(cost, 0.0);
	}

	/**
	 * The same costs with one of them changed.
	 * @param cost the step
	 * @param nanos what it costs
	 * @return the costs
	 */
	public Costs with(Cost cost, double nanos) {
		Map<Cost, Double> changed = new EnumMap<>(Cost.class);
		changed.putAll(this.nanos);
		changed.put(cost, nanos);
		return new Costs(changed);
	}

	/**
	 * The same on a machine that is slower by a factor.
	 * @param factor the factor
	 * @return the costs
	 */
	Costs times(double factor) {
		Map<Cost, Double> scaled = new EnumMap<>(Cost.class);
		this.nanos.forEach((cost, value) -> scaled.put(cost, value * factor));
		return new Costs(scaled);
	}

	/**
	 * The part of a request that is the same in every batch, without the rest.
	 * @return nanoseconds
	 */
	double measuredPath() {
		return of(Cost.SELECT_HANDLE) + of(Cost.ADD) + of(Cost.TAKE) + of(Cost.READ) + of(Cost.WRITE);
	}

	/**
	 * The costs for a file of results.
	 * @return facts by name
	 */
	public Map<String, String> facts() {
		Map<String, String> facts = new LinkedHashMap<>();
		for (Cost cost : Cost.values()) {
			if (this.nanos.containsKey(cost)) {
				facts.put(FACT + cost.name(), String.format(Locale.ROOT, "%.1f", of(cost)));
			}
		}
		return facts;
	}

	/**
	 * Whether a fact about a run is a cost.
	 * @param name the name of the fact
	 * @return whether it is
	 */
	public static boolean isFact(String name) {
		return name.startsWith(FACT);
	}

	/**
	 * The costs in a file of results.
	 * @param facts the facts about the run; if several files have a cost, the last counts
	 * @return the costs, none if there are none
	 */
	public static Costs of(Map<String, String> facts) {
		Map<Cost, Double> nanos = new EnumMap<>(Cost.class);
		for (Cost cost : Cost.values()) {
			String value = facts.get(FACT + cost.name());
			if (value != null) {
				nanos.put(cost, Double.valueOf(value.substring(value.lastIndexOf(' ') + 1)));
			}
		}
		return new Costs(nanos);
	}

	@Override
	public String toString() {
		StringBuilder text = new StringBuilder();
		for (Cost cost : Cost.values()) {
			text.append(String.format(Locale.ROOT, "%-52s %,9.0f ns%s%n", cost.label(), of(cost),
					cost.serial() ? "  serial" : ""));
		}
		return text.toString();
	}

}
