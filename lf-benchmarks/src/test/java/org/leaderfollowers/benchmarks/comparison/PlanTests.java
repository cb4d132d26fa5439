package org.leaderfollowers.benchmarks.comparison;

import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.benchmarks.results.Claim;
import org.leaderfollowers.benchmarks.results.Fixture;
import org.leaderfollowers.benchmarks.results.Goal;
import org.leaderfollowers.benchmarks.results.Results;
import org.leaderfollowers.benchmarks.results.Scenario;
import org.leaderfollowers.benchmarks.results.Servers;
import org.leaderfollowers.benchmarks.servers.ServerKind;
import org.leaderfollowers.benchmarks.servers.Work;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Presets measure what is to be said.
 */
class PlanTests {

	@ParameterizedTest
	@ValueSource(strings = { "goals", "full" })
	void everyGoalCanBeChecked(String preset) {
		Results results = results(Plan.of(List.of(preset)));
		assertThat(Goal.ALL)
			.allSatisfy((goal) -> assertThat(goal.check(results).outcome()).isNotEqualTo(Goal.Outcome.NOT_MEASURED));
	}

	@ParameterizedTest
	@ValueSource(strings = { "paper", "full" })
	void everyClaimCanBeChecked(String preset) {
		Results results = results(Plan.of(List.of(preset)));
		assertThat(Claim.ALL).allSatisfy((claim) -> {
			assertThat(claim.check(results, Servers.TEXTBOOK)).isPresent();
			assertThat(claim.check(results, Servers.EAGER)).isPresent();
			assertThat(claim.check(results, Servers.ADAPTIVE)).isPresent();
		});
		assertThat(Claim.ONE_LEADER_SUFFICES.check(results, Servers.EAGER_TWO_SETS)).isPresent();
	}

	@Test
	void allServersAndWorksAreThere() {
		Plan plan = Plan.of(List.of("full"));
		assertThat(plan.works())
			.containsExactlyInAnyOrder("none", "cpu2", "cpu5", "cpu10", "cpu20", "cpu50", "block5pct2ms",
					"block100pct1ms", "mixed-cpu50", "mixed-block100pct5ms")
			.allSatisfy((work) -> assertThat(Work.of(work)).isPresent());
		assertThat(Servers.ALL).extracting((server) -> ServerKind.of(server.replaceAll("@.*", "")).orElseThrow())
			.contains(ServerKind.values());
	}

	@Test
	void presetsAddUp() {
		Scenario echo = Scenario.closed("none", 64);
		Plan plan = Plan.of(List.of("goals", "paper"));
		assertThat(plan.scenarios("none")).doesNotHaveDuplicates().contains(echo);
		assertThat(plan.servers(echo)).doesNotHaveDuplicates()
			.contains(Servers.ADAPTIVE, Servers.NETTY, Servers.TEXTBOOK, Servers.EAGER_TWO_SETS);
		assertThat(plan.only(List.of(Servers.NETTY, Servers.NIO)).servers(echo))
			.containsExactlyInAnyOrder(Servers.NETTY, Servers.NIO);
	}

	@Test
	void anUnknownPresetIsRejected() {
		assertThatIllegalArgumentException().isThrownBy(() -> Plan.of(List.of("golas"))).withMessageContaining("golas");
	}

	private static Results results(Plan plan) {
		Fixture fixture = new Fixture();
		for (String work : plan.works()) {
			for (Scenario scenario : plan.scenarios(work)) {
				plan.servers(scenario).forEach((server) -> fixture.withAll(scenario, server, 1, 1));
			}
		}
		return fixture.results();
	}

}
