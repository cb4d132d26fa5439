package org.leaderfollowers.spring.actuate;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any argument of an operation of the endpoints: it is within its range, or it is refused
 * with one short line.
 */
class OperationArgumentsFuzzTests {

	@FuzzTest
	void argumentIsInItsRangeOrIsRefused(byte[] bytes) {
		String value = new String(bytes, StandardCharsets.UTF_8);
		attempt(() -> assertThat(OperationArguments.integer("name", value, 7, 1, 100)).isBetween(1, 100));
		attempt(() -> {
			Long size = OperationArguments.bytes("name", value, 1, 100);
			assertThat(size == null || (size >= 1 && size <= 100)).isTrue();
		});
		attempt(() -> OperationArguments.duration("name", value));
		attempt(() -> OperationArguments.rate("name", value));
		attempt(() -> OperationArguments.flag("name", value));
		attempt(() -> OperationArguments.constant("name", value, TimeUnit.class));
	}

	@Test
	void spaceAndCaseDoNotMatter() {
		assertThat(OperationArguments.duration("name", " 5s ")).isEqualTo(Duration.ofSeconds(5));
		assertThat(OperationArguments.bytes("name", " 5B ", 1, 9)).isEqualTo(5);
		assertThat(OperationArguments.constant("name", " seconds ", TimeUnit.class)).isEqualTo(TimeUnit.SECONDS);
		assertThat(OperationArguments.flag("name", " TRUE ")).isTrue();
		assertThat(OperationArguments.flag("name", " ")).isFalse();
		assertThat(OperationArguments.integer("name", " ", 7, 1, 9)).isEqualTo(7);
		assertThat(OperationArguments.duration("name", " ")).isNull();
		assertThat(OperationArguments.rate("name", " ")).isNull();
		assertThat(OperationArguments.constant("name", " ", TimeUnit.class)).isNull();
	}

	@Test
	void aLongTextIsShortened() {
		assertThat(OperationArguments.quote("x".repeat(64))).isEqualTo("x".repeat(64));
		assertThat(OperationArguments.quote("x".repeat(65))).isEqualTo("x".repeat(64) + "…");
	}

	private static void attempt(Runnable call) {
		try {
			call.run();
		}
		catch (RefusedRequestException ex) {
			String message = String.valueOf(ex.getMessage());
			assertThat(message).hasSizeLessThan(400);
			assertThat(message.chars().noneMatch(Character::isISOControl)).as(message).isTrue();
		}
	}

}
