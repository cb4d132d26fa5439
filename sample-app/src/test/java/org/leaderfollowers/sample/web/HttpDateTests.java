package org.leaderfollowers.sample.web;

import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link HttpDate}.
 */
class HttpDateTests {

	@Test
	void writesDateAsInHeaderFields() {
		assertThat(HttpDate.format(784_111_777_000L)).isEqualTo("Sun, 06 Nov 1994 08:49:37 GMT");
	}

	@Test
	void tellsTheTimeOfNow() {
		Instant before = Instant.now().truncatedTo(ChronoUnit.SECONDS);
		String date = HttpDate.now();
		assertThat(ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant()).isBetween(before,
				Instant.now());
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			Sun, 06 Nov 1994 08:49:37 GMT | true
			Sun, 06 Nov 1994 08:49:38 GMT | true
			Sun, 06 Nov 1994 08:49:36 GMT | false
			Mon, 06 Nov 1994 08:49:38 GMT | false
			tomorrow                      | false
			""")
	void comparesDates(String other, boolean isNotAfter) {
		assertThat(HttpDate.isNotAfter("Sun, 06 Nov 1994 08:49:37 GMT", other)).isEqualTo(isNotAfter);
	}

}
