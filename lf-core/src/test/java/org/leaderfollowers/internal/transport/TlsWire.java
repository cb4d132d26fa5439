package org.leaderfollowers.internal.transport;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * All bytes that a server writes to one client, as they are on the wire. They must be
 * complete TLS records, and none may follow the one with close_notify.
 */
public final class TlsWire {

	private static final int HANDSHAKE = 22;

	private static final int APPLICATION_DATA = 23;

	private static final int CHANGE_CIPHER_SPEC = 20;

	private static final int ALERT = 21;

	private static final int HEADER = 5;

	/** The limit of TLS 1.2, which is larger than that of TLS 1.3. */
	private static final int LARGEST = 16_384 + 2048;

	private final DataInputStream input;

	private final ClientEngine client;

	private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

	private int alerts;

	/**
	 * Begins to listen.
	 * @param input the bytes of the server
	 * @param client decrypts them
	 */
	public TlsWire(InputStream input, ClientEngine client) {
		this.input = new DataInputStream(input);
		this.client = client;
	}

	/**
	 * Passes the next record on to the client.
	 * @return {@code false} if the server has ended its output
	 */
	public boolean hear() throws IOException {
		int type = this.input.read();
		if (type < 0) {
			return false;
		}
		assertThat(this.client.closed).as("close_notify was sent before a record of type %d", type).isFalse();
		assertThat(type).as("type of a record").isIn(CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA);
		assertThat(this.input.readUnsignedShort()).as("version of a record").isEqualTo(0x0303);
		int length = this.input.readUnsignedShort();
		assertThat(length).as("length of a record").isBetween(1, LARGEST);
		byte[] record = ByteBuffer.allocate(HEADER + length)
			.put((byte) type)
			.putShort((short) 0x0303)
			.putShort((short) length)
			.array();
		if (this.input.readNBytes(record, HEADER, length) < length) {
			throw new EOFException("The last record is torn");
		}
		this.bytes.writeBytes(record);
		this.alerts += (type == ALERT) ? 1 : 0;
		this.client.hear(ByteBuffer.wrap(record));
		return true;
	}

	/**
	 * Listens until the server has ended its output.
	 * @param secret a text that the server has sent encrypted only
	 */
	public void hearToTheEnd(String secret) throws IOException {
		while (hear()) {
			// The records are checked.
		}
		assertThat(this.client.closed).as("close_notify was sent").isTrue();
		assertThat(this.bytes.toString(StandardCharsets.ISO_8859_1)).doesNotContain(secret);
		boolean showsAlerts = this.client.engine.getSession().getProtocol().equals("TLSv1.2");
		assertThat(this.alerts).as("alerts that show").isEqualTo(showsAlerts ? 1 : 0);
	}

}
