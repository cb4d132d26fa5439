package org.leaderfollowers.spring.cluster;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.leaderfollowers.spring.cluster.NodeMessage.Broadcast;
import org.leaderfollowers.spring.cluster.NodeMessage.Exchange;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply;
import org.leaderfollowers.spring.cluster.NodeMessage.Send;
import org.leaderfollowers.spring.cluster.NodeMessage.TakenOver;
import org.leaderfollowers.spring.session.SessionEntry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** Tests for {@link WireForm}: what is written is read, also by other versions. */
class WireFormTests {

	private static final SessionEntry ENTRY = new SessionEntry("4711", "north@1", "default", 77,
			Instant.ofEpochMilli(1_000), 3, Instant.ofEpochMilli(500));

	static final List<NodeMessage> messages = List.of(new Send("north@1", 1, 2, "4711", 3, bytes("hello")),
			new Exchange("north@1", Long.MAX_VALUE, -1, "ä", 3, bytes("taken, left").position(7)),
			new Broadcast("north@1", 1, 2, null, messages("ISO-8859-1", "UTF-8")),
			new Broadcast("north@1", 1, 2, "red", messages("UTF-8")), new TakenOver("north@1", 0, 2, ENTRY),
			new Reply("north@1", 1, 2, Reply.Outcome.TIMED_OUT, "ä".repeat(70_000), bytes("y".repeat(200_000))));

	private static ByteBuffer bytes(String text) {
		return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
	}

	private static Map<Charset, ByteBuffer> messages(String... charsets) {
		Map<Charset, ByteBuffer> messages = new LinkedHashMap<>();
		for (String charset : charsets) {
			messages.put(Charset.forName(charset), bytes("in " + charset));
		}
		return messages;
	}

	@ParameterizedTest
	@FieldSource("messages")
	void whatIsWrittenIsRead(NodeMessage message) {
		byte[] written = WireForm.of(message);
		assertThat(WireForm.message(written)).isEqualTo(message);
		assertThat(WireForm.of(message)).as("written twice").isEqualTo(written);
	}

	@ParameterizedTest
	@FieldSource("messages")
	void fieldsThatALaterVersionAppendsAreIgnored(NodeMessage message) {
		byte[] written = WireForm.of(message);
		assertThat(WireForm.message(Arrays.copyOf(written, written.length + 20))).isEqualTo(message);
	}

	@ParameterizedTest
	@FieldSource("messages")
	void aMessageThatIsCutShortIsRefused(NodeMessage message) {
		byte[] written = WireForm.of(message);
		for (int length = 0; length < Math.min(written.length, 100); length++) {
			byte[] cut = Arrays.copyOf(written, length);
			assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> WireForm.message(cut));
		}
	}

	@ParameterizedTest
	@FieldSource("messages")
	void ofANewerFormatOrKindTheSenderIsStillKnown(NodeMessage message) {
		byte[] newer = WireForm.of(message);
		newer[0] = 2;
		assertThat(WireForm.message(newer)).isEqualTo(
				new NodeMessage.Unknown("north@1", message.id(), message.id() != 0 && !(message instanceof Reply)));
		for (int kind : new int[] { NodeMessage.Kind.values().length, 200 }) {
			byte[] unknown = WireForm.of(message);
			unknown[1] = (byte) kind;
			assertThat(WireForm.message(unknown))
				.isEqualTo(new NodeMessage.Unknown("north@1", message.id(), message.id() != 0));
		}
	}

	@Test
	void whatOnlyALaterVersionKnowsIsUnderstoodInPart() {
		for (int outcome : new int[] { Reply.Outcome.values().length, 99 }) {
			byte[] reply = WireForm.of(new Reply("north@1", 1, 2, Reply.Outcome.INEXPRESSIBLE, "detail", bytes("")));
			replaceFirst(reply, Reply.Outcome.INEXPRESSIBLE.ordinal(), outcome);
			assertThat(WireForm.message(reply))
				.isEqualTo(new Reply("north@1", 1, 2, Reply.Outcome.LOST, "detail", bytes("")));
		}
		byte[] node = WireForm.ofNode(42);
		node[0] = 2;
		assertThat(WireForm.sessionsOfNode(node)).isZero();
		assertThat(WireForm.sessionsOfNode(WireForm.ofNode(-42))).as("of a damaged node").isZero();
	}

	/** It appears in the log, so it must not forge lines there. */
	@Test
	void aSenderThatIsNotPrintableIsRefused() {
		for (String sender : List.of("north\n@1", "\u001b[2J", "north 1", "n\u00f6rd@1")) {
			byte[] forged = WireForm.of(new Send(sender, 1, 2, "4711", 3, bytes("hello")));
			assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> WireForm.message(forged));
		}
	}

	@Test
	void anEntryIsRead() {
		byte[] written = WireForm.of(ENTRY);
		assertThat(WireForm.entry(written)).isEqualTo(ENTRY);
		assertThat(WireForm.entry(Arrays.copyOf(written, written.length + 8))).isEqualTo(ENTRY);
		assertThat(WireForm.entryOrNull("4711", null)).isNull();
		written[0] = 2;
		assertThatExceptionOfType(WireForm.UnsupportedFormatException.class).isThrownBy(() -> WireForm.entry(written))
			.withMessageContaining("complete the upgrade");
	}

	@Test
	void theFormDoesNotChangeByAccident() {
		assertThat(WireForm.of(ENTRY)).asHexString()
			.isEqualTo("01" + "0004" + "34373131" + "0007" + "6E6F7274684031" + "0007" + "64656661756C74"
					+ "000000000000004D" + "00000000000003E8" + "00000003" + "00000000000001F4");
		assertThat(WireForm.of(messages.get(0))).asHexString()
			.isEqualTo("01" + "00" + "0007" + "6E6F7274684031" + "0000000000000001" + "0000000000000002" + "0004"
					+ "34373131" + "0000000000000003" + "00000005" + "68656C6C6F");
		assertThat(WireForm.sessionsOfNode(WireForm.ofNode(42))).isEqualTo(42);
	}

	/** Fuzzing found that these were not reported as damaged. */
	@Test
	void valuesThatAreNotAllowedAreDamaged() {
		byte[] charset = WireForm.of(new Broadcast("north@1", 1, 2, null, messages("UTF-8")));
		replaceFirst(charset, 'T', '\n');
		assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> WireForm.message(charset))
			.withMessage("%d bytes of another node are damaged".formatted(charset.length))
			.havingCause()
			.withMessage("A value is not allowed: IllegalCharsetNameException");
		byte[] epoch = WireForm.of(ENTRY);
		replaceFirst(epoch, 77, 0);
		assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> WireForm.entry(epoch));
		byte[] late = WireForm.of(ofEpoch(WireForm.LATEST_EPOCH + 1));
		assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> WireForm.entry(late));
		SessionEntry latest = ofEpoch(WireForm.LATEST_EPOCH);
		assertThat(WireForm.entry(WireForm.of(latest))).isEqualTo(latest);
	}

	private static SessionEntry ofEpoch(long epoch) {
		return new SessionEntry("4711", "north@1", "default", epoch, Instant.EPOCH, 0, Instant.EPOCH);
	}

	private static void replaceFirst(byte[] bytes, int old, int replacement) {
		int at = 0;
		while (bytes[at] != old) {
			at++;
		}
		bytes[at] = (byte) replacement;
	}

}
