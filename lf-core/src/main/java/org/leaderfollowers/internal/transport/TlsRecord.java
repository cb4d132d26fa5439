package org.leaderfollowers.internal.transport;

import java.nio.ByteBuffer;

import javax.net.ssl.SSLException;

/**
 * The header of a TLS record, at the position of a buffer that is not empty.
 */
final class TlsRecord {

	private static final int HEADER = 5;

	/** 2^14 bytes of payload and the most of overhead that any version allows. */
	static final int LARGEST = HEADER + 16 * 1024 + 2048;

	private static final int CHANGE_CIPHER_SPEC = 20;

	private static final int ALERT = 21;

	private static final int HANDSHAKE = 22;

	private static final int HEARTBEAT = 24;

	private TlsRecord() {
	}

	/**
	 * Looks at the header of the next record, so that nothing too large is waited for.
	 * @param input may be empty
	 * @return its length, or 0 if it has not arrived. Bytes that are no record are for
	 * the engine to judge, as many as have arrived
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
