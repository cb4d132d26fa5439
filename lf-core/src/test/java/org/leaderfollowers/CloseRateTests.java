package org.leaderfollowers;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/** Rates of evacuations. */
class CloseRateTests {

	@ParameterizedTest
	@CsvSource({ "50/s, 50, SECONDS, 50/s", "' 30 / M ', 30, MINUTES, 30/m", "100/h, 100, HOURS, 100/h",
			"1000000/s, 1000000, SECONDS, 1000000/s" })
	void isParsedAndPrinted(String text, int connections, ChronoUnit unit, String printed) {
		CloseRate rate = CloseRate.of(text);
		assertThat(rate).isEqualTo(new CloseRate(connections, unit));
		assertThat(rate).hasToString(printed);
		assertThat(CloseRate.of(printed)).isEqualTo(rate);
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "50", "/s", "50/", "50/d", "50/ms", "-1/s", "1.5/s", "50/s/s", "fast",
			"99999999999999999999/s" })
	void otherTextIsRejected(String text) {
		assertThatIllegalArgumentException().isThrownBy(() -> CloseRate.of(text))
			.withMessageContaining("such as '50/s', '30/m' or '100/h'");
	}

	@Test
	void valuesOutOfRangeAreRejected() {
		assertThatIllegalArgumentException().isThrownBy(() -> CloseRate.of("0/s")).withMessageContaining("connections");
		assertThatIllegalArgumentException().isThrownBy(() -> CloseRate.of("1000001/s"))
			.withMessageContaining("connections");
		assertThatIllegalArgumentException().isThrownBy(() -> new CloseRate(1, ChronoUnit.DAYS))
			.withMessage("'unit' must be SECONDS, MINUTES or HOURS, but is DAYS");
	}

	/** Counts the groups that fit into one unit, if each begins as early as it may. */
	@ParameterizedTest
	@EnumSource(names = { "SECONDS", "MINUTES", "HOURS" })
	void noPeriodHasMoreThanTheRateAllows(ChronoUnit unit) {
		long period = unit.getDuration().toNanos();
		for (int connections = 1; connections <= 1_000_000; connections += (connections < 5000) ? 1 : 997) {
			CloseRate rate = new CloseRate(connections, unit);
			long groups = (period + rate.pauseNanos() - 1) / rate.pauseNanos();
			assertThat(groups * rate.groupSize()).as(rate.toString())
				.isLessThanOrEqualTo(connections)
				.isGreaterThan(connections * 9L / 10);
			assertThat(Duration.ofNanos(rate.pauseNanos())).as(rate.toString())
				.isGreaterThanOrEqualTo(Duration.ofMillis(10));
		}
	}

	@ParameterizedTest
	@CsvSource({ "50/s, 0, PT0S", "50/s, 1, PT0S", "50/s, 51, PT1S", "2/m, 3, PT1M", "1000/s, 1000, PT0.99S",
			"1000/s, 10, PT0S", "1/h, 2147483647, PT2147483646H" })
	void tellsHowLongConnectionsTake(String rate, int connections, Duration time) {
		assertThat(CloseRate.of(rate).timeFor(connections)).isEqualTo(time);
	}

}
