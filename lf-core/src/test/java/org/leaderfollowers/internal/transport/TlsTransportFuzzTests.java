package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.FuzzInput;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.RecordBuffers;
import org.leaderfollowers.internal.transport.Transport.Progress;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A transport, a real client, and between them somebody who damages, splits, drops,
 * repeats and exchanges the records of the client, before and after the handshake. The
 * server reads only what the client has said, in order; it makes progress or waits; its
 * memory is limited.
 */
class TlsTransportFuzzTests {

	private static final SSLContext SERVER = Certificates.server();

	private static final SSLContext CLIENT = Certificates.client();

	/** More calls of the server at once than a handshake and an end need. */
	private static final int MAX_CALLS = 200;

	/** The smallest buffer that the server reads into. */
	private static final int MIN_BUFFER = 64;

	private static final int MAX_STEPS = 64;

	/** Received, decrypted and written bytes of at most one read each. */
	private static final int MAX_MEMORY = TlsTransport.HANDSHAKE_BYTES + 3 * RecordBuffers.SIZE;

	/** The smallest record has 6 bytes, and may be charged as a key update. */
	private static final int MOST_CHARGED_FOR_A_BYTE = TlsTransport.KEY_UPDATE_BYTES / 6;

	/** Handshakes and what may follow them, from which the fuzzer begins. */
	static Stream<byte[]> sessions() {
		String handshake = "0001".repeat(8);
		List<String> followers = List.of("", "0b04000109" + "0001".repeat(4), "0bffff0109" + "0301".repeat(4),
				"0b0400010905002a030109", "0c01090001", "0d0109", "0e9000010e40000100", "0f01000e900000",
				"0b040001090b0400010908010901", "0b04000109070109", "0a150203010109", "0904000000000109",
				"0b9c3f0109".repeat(6) + "0001");
		List<String> damages = List.of("05002a030100010001", "0400100100010001", "06010001", "070100010001", "0d01",
				"0a16400101" + "00".repeat(64), "0904160303ff0001", "0c010001", "0f00000001");
		return Stream.of("00", "01")
			.flatMap((protocol) -> Stream.concat(followers.stream().map((next) -> protocol + handshake + next),
					damages.stream().map((damage) -> protocol + damage + handshake)))
			.map(HexFormat.of()::parseHex);
	}

	@MethodSource("sessions")
	@FuzzTest
	void onlyWordsOfThePeerAreRead(byte[] bytes) throws IOException {
		new Session(new FuzzInput(bytes)).run();
	}

	private static final class Session {

		private final FuzzInput input;

		private final MemoryBudget budget = new MemoryBudget(1 << 30);

		private final MemoryChannel channel = new MemoryChannel();

		private final TlsTransport server;

		private final ClientEngine client;

		/** The records of the client that are under way. */
		private final List<byte[]> records = new ArrayList<>();

		private byte[] latest = new byte[0];

		private final StringBuilder said = new StringBuilder();

		private final StringBuilder written = new StringBuilder();

		private final StringBuilder read = new StringBuilder();

		/** How many bytes were sent to the server. */
		private long sent;

		private boolean clientFailed;

		private boolean closeSent;

		private boolean tampered;

		private boolean established;

		private boolean ended;

		private boolean failed;

		Session(FuzzInput input) throws IOException {
			this.input = input;
			SSLEngine engine = SERVER.createSSLEngine();
			engine.setUseClientMode(false);
			engine.setNeedClientAuth(false);
			this.server = new TlsTransport(this.channel, engine, new RecordBuffers(), this.budget, 1);
			this.client = new ClientEngine(CLIENT, input.flip() ? "TLSv1.2" : "TLSv1.3");
			this.client.begin();
		}

		void run() throws IOException {
			for (int i = 0; i < MAX_STEPS && this.input.hasMore() && !this.failed; i++) {
				step();
				serve();
				check();
			}
			if (!this.failed && this.established && this.input.flip()) {
				this.channel.room = Integer.MAX_VALUE;
				attempt(() -> assertThat(this.server.shutdownOutput(true)).isEqualTo(Progress.DONE));
			}
			this.server.release();
			assertThat(this.budget.used()).as("memory after the release").isZero();
			assertThat(this.server.heldBytes()).isZero();
		}

		private void step() throws IOException {
			speak();
			switch (this.input.below(16)) {
				case 0, 1, 2 -> send(all());
				case 3 -> send(next());
				case 4 -> {
					byte[] record = next();
					int split = (record.length > 0) ? this.input.below64k(record.length) : 0;
					this.records.add(0, Arrays.copyOfRange(record, split, record.length));
					send(Arrays.copyOf(record, split));
				}
				case 5 -> {
					byte[] record = next();
					if (record.length > 0) {
						record[this.input.below64k(record.length)] ^= (byte) (1 << this.input.below(8));
						this.tampered = true;
					}
					send(record);
				}
				case 6 -> this.tampered |= next().length > 0;
				case 7 -> {
					this.tampered |= this.latest.length > 0;
					send(this.latest.clone());
				}
				case 8 -> {
					byte[] first = next();
					byte[] second = next();
					this.tampered |= second.length > 0;
					send(second);
					send(first);
				}
				case 9 -> {
					byte[] forged = this.input.bytes(this.input.below(64));
					this.tampered |= forged.length > 0;
					send(forged);
				}
				case 10 -> {
					// A record with a right header.
					byte[] body = this.input.bytes(this.input.below(64));
					this.tampered = true;
					send(ByteBuffer.allocate(5 + body.length)
						.put((byte) (20 + this.input.below(5)))
						.putShort((short) 0x0303)
						.putShort((short) body.length)
						.put(body)
						.array());
				}
				case 11 -> say(1 + this.input.below64k(40_000));
				case 12 -> close();
				case 13 -> {
					this.tampered |= !this.records.isEmpty();
					this.channel.endInput();
				}
				case 14 -> write(1 + this.input.below64k(40_000));
				default -> this.channel.room = this.input.below64k(65536);
			}
			// The room is nearly always enough.
			if (this.input.below(4) > 0) {
				this.channel.room = Integer.MAX_VALUE;
			}
		}

		// The client

		/** Collects the records that the client sends by itself. */
		private void speak() {
			if (!this.clientFailed && !this.closeSent) {
				byClient(() -> enqueue(this.client.speak()));
			}
		}

		private void say(int length) {
			if (this.clientFailed || this.closeSent || this.client.isHandshaking()) {
				return;
			}
			String text = String.valueOf((char) ('a' + this.said.length() % 26)).repeat(length);
			byClient(() -> {
				enqueue(this.client.say(text));
				this.said.append(text);
			});
		}

		private void close() {
			if (!this.clientFailed && !this.closeSent) {
				this.closeSent = true;
				byClient(() -> enqueue(this.client.close()));
			}
		}

		private void byClient(Action action) {
			try {
				action.run();
			}
			catch (IOException | RuntimeException ex) {
				// The client may fail on a server whose input was damaged.
				assertThat(this.tampered).as("%s without cause", ex).isTrue();
				this.clientFailed = true;
			}
		}

		private void enqueue(byte[] bytes) {
			for (int at = 0; at < bytes.length;) {
				int length = 5 + ((bytes[at + 3] & 0xFF) << 8 | bytes[at + 4] & 0xFF);
				this.records.add(Arrays.copyOfRange(bytes, at, at + length));
				at += length;
			}
		}

		private byte[] next() {
			if (this.records.isEmpty()) {
				return new byte[0];
			}
			this.latest = this.records.remove(0);
			return this.latest.clone();
		}

		private byte[] all() {
			ByteBuffer all = ByteBuffer.allocate(this.records.stream().mapToInt((record) -> record.length).sum());
			while (!this.records.isEmpty()) {
				all.put(next());
			}
			return all.array();
		}

		private void send(byte[] bytes) {
			this.sent += bytes.length;
			this.channel.receive(bytes);
		}

		// The server

		private void serve() throws IOException {
			int most = MAX_CALLS + 2 * (this.said.length() - this.read.length()) / MIN_BUFFER;
			for (int calls = 0; !this.failed && goesOn(); calls++) {
				assertThat(calls).as("calls without an end").isLessThan(most);
			}
			byte[] output = this.channel.takeOutput();
			if (!this.clientFailed) {
				byClient(() -> this.client.hear(ByteBuffer.wrap(output)));
			}
		}

		/** Calls the transport once. Returns whether to call it again at once. */
		private boolean goesOn() {
			if (this.server.wantsWrite()) {
				attempt(this.server::flush);
			}
			return this.established ? read() : establish();
		}

		private boolean establish() {
			Progress[] progress = { Progress.ENDED };
			attempt(() -> progress[0] = this.server.establish());
			this.established = progress[0] == Progress.DONE;
			if (progress[0] == Progress.HAS_TASKS) {
				this.server.runTasks();
			}
			this.failed |= progress[0] == Progress.ENDED;
			return this.established || progress[0] == Progress.HAS_TASKS;
		}

		private boolean read() {
			ByteBuffer buffer = ByteBuffer.allocate(MIN_BUFFER << this.input.below(10));
			int[] count = { -1 };
			attempt(() -> count[0] = this.server.read(buffer));
			this.read.append(StandardCharsets.ISO_8859_1.decode(buffer.flip()));
			assertThat(this.ended && count[0] > 0).as("bytes behind the end").isFalse();
			if (count[0] < 0 && !this.failed) {
				this.ended = true;
				assertThat(this.server.isTruncated() || this.closeSent || this.tampered).as("an end").isTrue();
			}
			switch (this.server.readNeeds()) {
				case HAS_TASKS -> {
					this.server.runTasks();
					return true;
				}
				case WANTS_FLUSH -> {
					if (!this.server.wantsWrite()) {
						this.server.endInput();
						return true;
					}
					return false;
				}
				default -> {
					return this.server.hasMoreInput() && !this.failed && !this.ended;
				}
			}
		}

		private void write(int length) {
			if (!this.established || this.failed) {
				return;
			}
			String text = String.valueOf((char) ('A' + this.written.length() % 26)).repeat(length);
			ByteBuffer source = ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
			this.channel.room = Integer.MAX_VALUE;
			attempt(() -> {
				this.server.write(source);
				assertThat(source.hasRemaining()).isFalse();
			});
			this.written.append(text);
		}

		private void attempt(Action action) {
			try {
				action.run();
			}
			catch (IOException ex) {
				this.failed = true;
				assertThat(String.valueOf(ex.getMessage())).as("what an operator reads").matches("[ -~]*");
				assertThat(this.tampered || this.ended || isEarlyEnd(ex)).as("%s without cause", ex).isTrue();
			}
		}

		/** The end or the closing alert of the client within the handshake. */
		private boolean isEarlyEnd(IOException ex) {
			return !this.established || this.closeSent;
		}

		private void check() {
			assertThat(this.said.toString().startsWith(this.read.toString())).as("the client has said that").isTrue();
			assertThat(this.written.toString().startsWith(this.client.heard())).as("the server has said that").isTrue();
			assertThat(this.budget.used()).as("memory").isLessThanOrEqualTo(MAX_MEMORY);
			if (this.channel.hasEnded() && !this.server.wantsWrite()) {
				// A socket at its end fires for ever.
				assertThat(this.ended || this.failed).as("the end of the peer is noticed").isTrue();
			}
			if (this.established) {
				// Only records without data are charged, which this client does not send
				// itself.
				assertThat((long) this.server.heldBytes()).as("memory of the engine")
					.isLessThanOrEqualTo(this.tampered ? this.sent * MOST_CHARGED_FOR_A_BYTE : 0);
			}
		}

	}

	private interface Action {

		void run() throws IOException;

	}

}
