package org.leaderfollowers;

import java.nio.ByteBuffer;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link Correlation}.
 */
class CorrelationTests {

	@ParameterizedTest
	@CsvSource({ "-1, 2, offset", "2147483640, 2, offset", "0, 0, length", "0, 9, length" })
	void fieldOutsideOfAnyMessageIsRefused(int offset, int length, String what) {
		assertThatIllegalArgumentException().isThrownBy(() -> Correlation.stamped(offset, length))
			.withMessageContaining("'" + what + "'");
	}

	@Test
	void functionThatReadsTheMessageChangesNeitherPositionNorLimit() {
		Correlation correlation = Correlation.byKey((message) -> {
			message.get();
			return message.limit(message.position() + 1).get();
		});
		ByteBuffer message = Engine.bytes("12345").position(1);
		assertThat(correlation.keyOf(message)).isEqualTo((byte) '3');
		assertThat(message.position()).isOne();
		assertThat(message.limit()).isEqualTo(5);
		assertThatExceptionOfType(RuntimeException.class).isThrownBy(() -> correlation.keyOf(message.limit(1)));
		assertThat(message.position()).isOne();
	}

}
