package org.leaderfollowers.spring.cluster;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.spring.cluster.NodeMessage.Broadcast;
import org.leaderfollowers.spring.cluster.NodeMessage.Exchange;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply;
import org.leaderfollowers.spring.cluster.NodeMessage.Send;
import org.leaderfollowers.spring.cluster.NodeMessage.TakenOver;
import org.leaderfollowers.spring.session.SessionEntry;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any bytes of another node, or of an entry that another node has written: they are read,
 * and then written again the same, or are reported as damaged.
 */
class WireFormFuzzTests {

	/** Valid messages and entries, from which the fuzzer begins. */
	static Stream<byte[]> valid() {
		ByteBuffer payload = StandardCharsets.UTF_8.encode("payload");
		SessionEntry entry = new SessionEntry("device", "node", "server", 7, Instant.EPOCH, 1, Instant.EPOCH);
		Stream<byte[]> messages = Stream
			.<NodeMessage>of(new Send("node", 1, 2, "device", 3, payload),
					new Exchange("node", 1, 2, "device", 3, payload),
					new Broadcast("node", 1, 2, "group", Map.of(StandardCharsets.UTF_8, payload)),
					new Broadcast("node", 1, 2, null, Map.of()), new TakenOver("node", 0, 2, entry),
					new Reply("node", 1, 2, Reply.Outcome.REJECTED, "detail", payload))
			.map((message) -> prefixed(0, WireForm.of(message)));
		return Stream.concat(messages, Stream.of(prefixed(1, WireForm.of(entry)), prefixed(2, WireForm.ofNode(9))));
	}

	private static byte[] prefixed(int kind, byte[] bytes) {
		return ByteBuffer.allocate(1 + bytes.length).put((byte) kind).put(bytes).array();
	}

	@MethodSource("valid")
	@FuzzTest
	void bytesOfAnotherNodeAreReadOrReported(byte[] input) {
		if (input.length == 0) {
			return;
		}
		byte[] bytes = Arrays.copyOfRange(input, 1, input.length);
		try {
			switch (input[0]) {
				case 0 -> readMessage(bytes);
				case 1 -> {
					SessionEntry entry = WireForm.entry(bytes);
					assertThat(WireForm.entry(WireForm.of(entry))).isEqualTo(entry);
				}
				default -> WireForm.sessionsOfNode(bytes);
			}
		}
		catch (UncheckedIOException | WireForm.UnsupportedFormatException ex) {
			assertThat(ex.getMessage()).matches("[ -~]+");
		}
	}

	private static void readMessage(byte[] bytes) {
		NodeMessage message = WireForm.message(bytes);
		if (message instanceof NodeMessage.Unknown) {
			return;
		}
		byte[] written = WireForm.of(message);
		assertThat(WireForm.message(written)).isEqualTo(message);
	}

}
