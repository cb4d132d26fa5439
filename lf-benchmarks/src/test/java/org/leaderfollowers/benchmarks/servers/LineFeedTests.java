package org.leaderfollowers.benchmarks.servers;

import java.nio.ByteBuffer;
import java.util.Random;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LineFeed}.
 */
class LineFeedTests {

	@Test
	void findsTheFirstLineFeedWhereverItIs() {
		for (int length = 0; length < 40; length++) {
			for (int at = 0; at < length; at++) {
				ByteBuffer buffer = filled(length, (byte) 'x').put(at, (byte) '\n').put(length - 1, (byte) '\n');
				for (int from = 0; from <= at; from++) {
					assertThat(LineFeed.find(buffer, from, length)).isEqualTo(at);
				}
			}
		}
	}

	@Test
	void takesNoOtherByteForALineFeed() {
		Random random = new Random(1);
		for (int i = 0; i < 10_000; i++) {
			byte[] bytes = new byte[random.nextInt(64)];
			random.nextBytes(bytes);
			int expected = -1;
			for (int at = bytes.length - 1; at >= 0; at--) {
				expected = (bytes[at] == '\n') ? at : expected;
			}
			assertThat(LineFeed.find(ByteBuffer.wrap(bytes), 0, bytes.length)).isEqualTo(expected);
		}
		for (int value = Byte.MIN_VALUE; value <= Byte.MAX_VALUE; value++) {
			int expected = (value == '\n') ? 0 : -1;
			assertThat(LineFeed.find(filled(16, (byte) value), 0, 16)).isEqualTo(expected);
		}
	}

	@Test
	void doesNotLookBehindTheEnd() {
		ByteBuffer buffer = filled(16, (byte) 'x').put(9, (byte) '\n');
		assertThat(LineFeed.find(buffer, 0, 9)).isEqualTo(-1);
		assertThat(LineFeed.find(buffer, 0, 10)).isEqualTo(9);
		assertThat(LineFeed.find(buffer, 10, 10)).isEqualTo(-1);
	}

	private static ByteBuffer filled(int length, byte value) {
		ByteBuffer buffer = ByteBuffer.allocate(length);
		while (buffer.hasRemaining()) {
			buffer.put(value);
		}
		return buffer;
	}

}
