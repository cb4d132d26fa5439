package org.leaderfollowers.simulation;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.interleavings.Mutation;

/** Runs seeds with one copy of the engine, one after the other. */
public final class Simulation {

	private final Class<?> workload;

	private boolean hasRun;

	/**
	 * Loads the engine.
	 * @param workload the name of the workload, which has a constructor for its
	 * {@link Simulator}
	 * @param mutations what to change in the engine
	 */
	public Simulation(String workload, Mutation... mutations) throws ReflectiveOperationException, IOException {
		SimulatedClasses classes = new SimulatedClasses(List.of(mutations));
		// A class must not be initialised during a run: the threads would block for real.
		Path root = Path.of("target/classes");
		try (Stream<Path> files = Files.walk(root)) {
			for (Path file : files.filter((path) -> path.toString().endsWith(".class")).sorted().toList()) {
				String name = root.relativize(file).toString().replace('/', '.').replaceAll("\\.class$", "");
				if (name.startsWith("org.leaderfollowers.") && !name.endsWith("package-info")) {
					Class.forName(name, true, classes);
				}
			}
		}
		classes.requireMutations();
		this.workload = Class.forName(workload, true, classes);
	}

	/**
	 * The result of a run.
	 *
	 * @param seed its seed
	 * @param violation the violated rule, or {@code null}
	 * @param steps the number of scheduling points
	 * @param counts how often each {@link Counted} has happened
	 * @param signature stands for all steps
	 * @param trace the steps, if they were recorded
	 */
	public record Result(long seed, @Nullable String violation, long steps, long[] counts, long signature,
			String trace) {
	}

	/** Runs a seed. */
	public Result run(long seed, boolean traced) throws ReflectiveOperationException, InterruptedException {
		if (!this.hasRun) {
			// The first run takes other steps, because the engine creates what it keeps.
			// A replay must not differ from the run that failed.
			this.hasRun = true;
			Result first = run(1, traced);
			if (first.violation() != null) {
				return first;
			}
		}
		Simulator simulator = new Simulator(seed, traced);
		Runnable body = (Runnable) this.workload.getConstructor(Simulator.class).newInstance(simulator);
		String violation = simulator.run(body);
		return new Result(seed, violation, simulator.steps(), simulator.counts(), simulator.signature(),
				simulator.trace());
	}

}
