package org.leaderfollowers.benchmarks.comparison;

import java.nio.file.Path;
import java.util.List;

/**
 * How servers are started and measured.
 *
 * @param vmArguments arguments for the servers' JVMs
 * @param cpuIterations the number of iterations that take 20 µs of CPU time on this
 * machine: the same for all servers
 * @param warmup seconds that each server is warmed up for
 * @param seconds the length of one measurement
 * @param rounds how often each server is measured in each scenario
 * @param quietPercent what other processes may use of the machine: a measurement with
 * more is repeated
 * @param neighbourConnections connections that keep a neighbour busy
 * @param log where the processes complain
 */
record Settings(List<String> vmArguments, int cpuIterations, double warmup, double seconds, int rounds,
		double quietPercent, int neighbourConnections, Path log) {

}
