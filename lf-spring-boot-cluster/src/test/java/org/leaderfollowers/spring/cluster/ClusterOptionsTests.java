package org.leaderfollowers.spring.cluster;

import java.time.Duration;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/** Times that follow from others. */
class ClusterOptionsTests {

	/** A silent member would otherwise delay a renewal for too long. */
	@ParameterizedTest
	@CsvSource({ "60000, 60000, 1000", "800, 60000, 80", "60000, 800, 400" })
	void theShortestTimeLimitsTheWaitForAnswers(int leaseMillis, int timeoutMillis, int answerMillis) {
		ClusterOptions options = new ClusterOptions("north", Duration.ofMillis(leaseMillis), Duration.ofMinutes(1),
				Duration.ofMillis(timeoutMillis), 0, 1);
		assertThat(options.answerTimeout()).hasMillis(answerMillis);
	}

}
