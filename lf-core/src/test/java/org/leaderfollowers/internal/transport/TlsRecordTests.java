package org.leaderfollowers.internal.transport;

import java.nio.ByteBuffer;

import javax.net.ssl.SSLException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class TlsRecordTests {

	private static final int HEADER = 5;

	/** What TLS 1.2 allows for the encrypted payload: 2^14 bytes and 2048 more. */
	private static final int LARGEST_PAYLOAD = 16_384 + 2048;

	private static final byte APPLICATION_DATA = 23;

	private static ByteBuffer record(int announced, int arrived) {
		return ByteBuffer.allocate(HEADER + arrived)
			.put(0, APPLICATION_DATA)
			.putShort(1, (short) 0x0303)
			.putShort(3, (short) announced);
	}

	@Test
	void theLargestRecordIsAllowed() throws SSLException {
		ByteBuffer complete = record(LARGEST_PAYLOAD, LARGEST_PAYLOAD);
		assertThat(TlsRecord.next(complete)).isEqualTo(HEADER + LARGEST_PAYLOAD);
		assertThat(TlsRecord.next(record(LARGEST_PAYLOAD, LARGEST_PAYLOAD - 1))).isZero();
	}

	@Test
	void aLargerRecordIsRejectedBeforeItHasArrived() {
		ByteBuffer header = record(LARGEST_PAYLOAD + 1, 0);
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> TlsRecord.next(header))
			.withMessageContaining("allowed");
	}

	@ParameterizedTest
	@ValueSource(bytes = { 20, 21, 22, 23, 24 })
	void theRestOfAHeaderIsAwaited(byte type) throws SSLException {
		ByteBuffer input = ByteBuffer.allocate(HEADER - 1).put(0, type);
		assertThat(TlsRecord.next(input)).isZero();
	}

	@ParameterizedTest
	@ValueSource(bytes = { 0, 19, 25, 'G', -128 })
	void bytesThatAreNoRecordAreNotAwaited(byte type) throws SSLException {
		ByteBuffer input = ByteBuffer.allocate(HEADER - 1).put(0, type);
		assertThat(TlsRecord.next(input)).isEqualTo(HEADER - 1);
	}

}
