package org.leaderfollowers.sample.tier;

import java.nio.ByteBuffer;
import java.util.UUID;
import java.util.stream.Stream;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.TransactionResult.Rejected;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any message of the other tier: it is read, and then written again the same, or Jackson
 * refuses it.
 */
class TierProtocolFuzzTests {

	private static final TierProtocol PROTOCOL = new TierProtocol(JsonMapper.builder().build());

	/** Messages from which the fuzzer begins. */
	static Stream<byte[]> messages() {
		UUID id = new UUID(1, 2);
		return Stream
			.of(PROTOCOL.request(new Order(id, new TransactionRequest(42, 3, 1, -1500))),
					PROTOCOL.request(new ConfirmationRequest(id)), PROTOCOL.reply(7, new Confirmation(true)),
					PROTOCOL.reply(7, new Committed(42, 5, 1)), PROTOCOL.reply(7, new Rejected("no")))
			.map(ByteBuffer::array);
	}

	@MethodSource("messages")
	@FuzzTest
	void messageIsReadOrRefused(byte[] bytes) {
		ByteBuffer message = ByteBuffer.wrap(bytes);
		if (bytes.length <= Long.BYTES) {
			assertThat(TierProtocol.isReply(message)).isFalse();
			return;
		}
		long number = TierProtocol.number(message);
		for (Class<?> type : new Class<?>[] { Order.class, ConfirmationRequest.class, Confirmation.class,
				TransactionResult.class }) {
			try {
				Object body = PROTOCOL.read(message, type);
				if (body != null) {
					ByteBuffer written = PROTOCOL.reply(number, body);
					assertThat(TierProtocol.number(written)).isEqualTo(number);
					assertThat((Object) PROTOCOL.read(written, type)).isEqualTo(body);
				}
			}
			catch (JacksonException ex) {
				// The message has another type, or none.
			}
		}
		assertThat(message.remaining()).isEqualTo(bytes.length);
	}

}
