package org.leaderfollowers.benchmarks.attack;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.benchmarks.attack.AttackComparison.Outcome;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A whole comparison, in small.
 */
@Timeout(600)
class AttackComparisonTests {

	@TempDir
	Path directory;

	private final ByteArrayOutputStream out = new ByteArrayOutputStream();

	@Test
	void serversAreAttackedWhileHonestClientsAreServed() throws Exception {
		List<Outcome> outcomes = attack("--servers=lf,netty,tomcat", "--attacks=endless_messages");
		assertThat(outcomes).extracting(Outcome::target).containsExactly(Target.LF, Target.NETTY, Target.TOMCAT);
		assertThat(outcomes).allSatisfy(this::isServed);
		assertThat(this.directory.resolve("attacks.csv")).content().contains("\ntomcat,endless_messages,1,");
		assertThat(this.out.toString(StandardCharsets.UTF_8)).contains("| messages without end | netty |");
	}

	@Tag("stress")
	@Test
	void everyAttackIsSurvived() throws Exception {
		List<Outcome> outcomes = attack("--servers=lf");
		assertThat(outcomes).extracting(Outcome::attack).containsExactly(Attack.values());
		assertThat(outcomes).allSatisfy(this::isServed);
		assertThat(outcomes).allSatisfy((outcome) -> assertThat(outcome.failed()).isZero());
	}

	private void isServed(Outcome outcome) {
		assertThat(outcome.alive()).isTrue();
		assertThat(outcome.served()).isPositive();
		assertThat(outcome.wrong()).isZero();
		assertThat(outcome.opened()).isPositive();
	}

	private List<Outcome> attack(String... args) throws Exception {
		List<String> all = new ArrayList<>(List.of(args));
		all.addAll(List.of("--rounds=1", "--seconds=1", "--connections=20", "--addresses=5", "--honest=2",
				"--timeout=60", "--output=" + this.directory.resolve("attacks.csv")));
		return AttackComparison.run(all, new PrintStream(this.out, true, StandardCharsets.UTF_8));
	}

}
