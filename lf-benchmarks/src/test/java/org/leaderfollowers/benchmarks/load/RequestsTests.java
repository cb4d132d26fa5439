package org.leaderfollowers.benchmarks.load;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Requests are lines, no two are equal, and parts of them can be had again.
 */
class RequestsTests {

	@ParameterizedTest
	@ValueSource(ints = { 17, 18, 64, 4096, 65_536, 100_000 })
	void allAreDifferentLinesOfTheRightLength(int length) {
		Requests requests = new Requests(length);
		Set<String> lines = new HashSet<>();
		for (int connection : new int[] { 0, 1, 255, 9999 }) {
			for (long number : new long[] { 0, 1, 16, 255, 1_000_000 }) {
				String line = text(requests.lines(connection, number, 0, 1));
				assertThat(line).hasSize(length).endsWith("\n");
				assertThat(line.indexOf('\n')).isEqualTo(length - 1);
				lines.add(line);
			}
		}
		assertThat(lines).hasSize(20);
	}

	@Test
	void severalAreWrittenAtOnceFromAnywhereInTheFirst() {
		Requests requests = new Requests(64);
		String first = text(requests.lines(7, 41, 0, 1));
		String second = text(requests.lines(7, 42, 0, 1));
		assertThat(text(requests.lines(7, 41, 0, 2))).isEqualTo(first + second);
		assertThat(text(requests.lines(7, 41, 60, 2))).isEqualTo(first.substring(60) + second);
	}

	@Test
	void repliesAreComparedInParts() {
		Requests requests = new Requests(64);
		ByteBuffer in = ByteBuffer.allocateDirect(200);
		in.put(requests.lines(3, 5, 0, 3)).flip();
		assertThat(requests.matches(in, 3, 5, 0, 10)).isTrue();
		assertThat(requests.matches(in, 3, 5, 10, 54)).isTrue();
		assertThat(requests.matches(in, 3, 6, 0, 64)).isTrue();
		assertThat(in.remaining()).isEqualTo(64);
		assertThat(requests.matches(in, 3, 8, 0, 64)).isFalse();
	}

	@Test
	void everyByteIsCompared() {
		Requests requests = new Requests(64);
		for (int i = 0; i < 64; i++) {
			ByteBuffer in = ByteBuffer.allocate(64);
			in.put(requests.lines(3, 5, 0, 1)).flip();
			in.put(i, (byte) (in.get(i) + 1));
			assertThat(requests.matches(in, 3, 5, 0, 64)).isFalse();
		}
	}

	private static String text(ByteBuffer lines) {
		return StandardCharsets.ISO_8859_1.decode(lines).toString();
	}

}
