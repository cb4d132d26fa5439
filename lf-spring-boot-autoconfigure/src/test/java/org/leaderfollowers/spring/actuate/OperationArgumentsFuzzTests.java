package org.leaderfollowers.spring.actuate;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

import com.code_intelligence.jazzer.junit.FuzzTest;

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
