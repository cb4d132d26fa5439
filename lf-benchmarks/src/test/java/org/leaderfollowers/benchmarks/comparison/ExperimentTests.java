package org.leaderfollowers.benchmarks.comparison;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The order in which servers are measured favours none of them.
 */
class ExperimentTests {

	@ParameterizedTest
	@ValueSource(ints = { 1, 2, 3, 7 })
	void ofAnyTwoServersEachIsFirstAsOftenAsTheOther(int count) {
		List<String> servers = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			servers.add("server " + i);
		}
		for (String one : servers) {
			for (String other : servers) {
				int before = 0;
				for (int round = 0; round < 2 * count; round++) {
					List<String> inTurn = Experiment.inTurn(servers, round);
					assertThat(new HashSet<>(inTurn)).hasSize(count).containsAll(servers);
					before += (inTurn.indexOf(one) < inTurn.indexOf(other)) ? 1 : 0;
				}
				assertThat(before).isEqualTo(one.equals(other) ? 0 : count);
			}
		}
	}

	@ParameterizedTest
	@ValueSource(ints = { 2, 3, 7 })
	void everyServerIsOnceTheFirstOfARound(int count) {
		List<String> servers = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			servers.add("server " + i);
		}
		List<String> first = new ArrayList<>();
		for (int round = 0; round < 2 * count; round++) {
			first.add(Experiment.inTurn(servers, round).get(0));
		}
		assertThat(first).containsAll(servers);
	}

}
