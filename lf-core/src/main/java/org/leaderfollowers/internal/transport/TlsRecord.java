package org.leaderfollowers.internal.transport;

import java.nio.ByteBuffer;

import javax.net.ssl.SSLException;

/**
 * The header of a TLS record, at the position of a buffer that is not empty.
 */
final class TlsRecord {

	private static final int HEADER = 5;

	/** 2^14 bytes of payload, and the maximum overhead that any version allows. */
	static final int LARGEST = HEADER + 16 * 1024 + 2048;

	private static final int CHANGE_CIPHER_SPEC = 20;

	private static final int ALERT = 21;

	private static final int HANDSHAKE = 22;

	private static final int HEARTBEAT = 24;

	private TlsRecord() {
	}

	/**
	 * Looks at the header of the next record, so that a record that is too large is
	 * rejected before it has arrived.
	 * @param input the received bytes, possibly none
	 * @return the length of the record, or 0 if its header is incomplete. If the bytes
	 * are not a record, the result is the number of bytes, so that they are rejected at
	 * once: during the handshake by the engine, afterwards by the transport
	 */
	static int next(ByteBuffer input) throws SSLException {
		int available = input.remaining();
		if (available == 0 || !isRecord(input)) {
			return available;
		}
		if (available < HEADER) {
			return 0;
		}
		int length = HEADER + (input.getShort(input.position() + HEADER - 2) & 0xFFFF);
		if (length > LARGEST) {
			throw new SSLException("A record has %d bytes, and no more than %d are allowed".formatted(length, LARGEST));
		}
		return (length <= available) ? length : 0;
	}

	static boolean isRecord(ByteBuffer input) {
		int type = type(input);
		return type >= CHANGE_CIPHER_SPEC && type <= HEARTBEAT;
	}

	static boolean isHandshake(ByteBuffer input) {
		int type = type(input);
		return type == HANDSHAKE || type == CHANGE_CIPHER_SPEC;
	}

	static boolean isAlert(ByteBuffer input) {
		return type(input) == ALERT;
	}

	private static int type(ByteBuffer input) {
		return input.get(input.position());
	}

}
