package org.leaderfollowers.sample.tier;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.TransactionResult.Rejected;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.messaging.support.GenericMessage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link TierProtocol}.
 */
class TierProtocolTests {

	private static final Order ORDER = new Order(UUID.randomUUID(), new TransactionRequest(42, 3, 1, -1500));

	private final TierProtocol protocol = new TierProtocol(JsonMapper.builder().build());

	@Test
	void requestIsNoReply() {
		ByteBuffer request = this.protocol.request(new ConfirmationRequest(ORDER.id()));
		assertThat(TierProtocol.isReply(request)).isFalse();
		assertThat(this.protocol.read(request, ConfirmationRequest.class).order()).isEqualTo(ORDER.id());
	}

	@Test
	void replyHasNumberOfRequest() {
		ByteBuffer reply = this.protocol.reply(Long.MAX_VALUE, new Confirmation(true));
		assertThat(TierProtocol.isReply(reply)).isTrue();
		assertThat(TierProtocol.number(reply)).isEqualTo(Long.MAX_VALUE);
		assertThat(this.protocol.read(reply, Confirmation.class)).isEqualTo(new Confirmation(true));
	}

	@Test
	void orderIsRequest() {
		byte[] payload = (byte[]) this.protocol.toMessage(ORDER, null).getPayload();
		assertThat(TierProtocol.isReply(ByteBuffer.wrap(payload))).isFalse();
		assertThat(this.protocol.read(ByteBuffer.wrap(payload), Order.class)).isEqualTo(ORDER);
	}

	@Test
	void resultIsReply() {
		for (TransactionResult result : new TransactionResult[] { new Committed(42, 5, 1), new Rejected("no") }) {
			ByteBuffer reply = this.protocol.reply(7, result);
			assertThat(this.protocol.fromMessage(new GenericMessage<>(reply.array()), TransactionResult.class))
				.isEqualTo(result);
		}
	}

	@Test
	void convertsNothingElse() {
		assertThat(this.protocol.toMessage(new Committed(42, 5, 1), null)).isNull();
		assertThat(this.protocol.fromMessage(new GenericMessage<>(new byte[20]), String.class)).isNull();
		assertThat(this.protocol.fromMessage(new GenericMessage<>("text"), TransactionResult.class)).isNull();
	}

	@Test
	void refusesMessageWithoutHeader() {
		ByteBuffer message = ByteBuffer.wrap(new byte[8]);
		assertThat(TierProtocol.isReply(message)).isFalse();
		assertThat(TierProtocol.isReply(ByteBuffer.allocate(9).put(8, (byte) 1))).isTrue();
		assertThatIllegalArgumentException().isThrownBy(() -> TierProtocol.number(message))
			.withMessageContaining("at least 9 bytes, but this one has 8");
	}

	@Test
	void refusesMessageOfAnotherType() {
		ByteBuffer message = this.protocol.request(new Confirmation(true));
		assertThatExceptionOfType(JacksonException.class).isThrownBy(() -> this.protocol.read(message, Order.class));
	}

	@Test
	void messageBeginsAtAnyIndex() {
		ByteBuffer reply = this.protocol.reply(7, new Confirmation(true));
		ByteBuffer later = ByteBuffer.allocate(3 + reply.remaining()).position(3).put(reply).flip().position(3);
		assertThat(TierProtocol.isReply(later)).isTrue();
		assertThat(TierProtocol.number(later)).isEqualTo(7);
		assertThat(this.protocol.read(later, Confirmation.class)).isEqualTo(new Confirmation(true));
	}

	/** It could be carried out twice, or for something else. */
	@ParameterizedTest
	@ValueSource(strings = { "{\"request\":%s}", "{\"id\":null,\"request\":%s}",
			"{\"id\":\"00000000-0000-0001-0000-000000000002\",\"request\":%s,\"urgent\":true}" })
	void refusesOrderThatIsNotExact(String json) {
		byte[] body = json.formatted("{\"account\":42,\"teller\":3,\"branch\":1,\"delta\":5}")
			.getBytes(StandardCharsets.UTF_8);
		ByteBuffer message = ByteBuffer.allocate(Long.BYTES + 1 + body.length)
			.position(Long.BYTES + 1)
			.put(body)
			.flip();
		assertThatExceptionOfType(JacksonException.class).isThrownBy(() -> this.protocol.read(message, Order.class));
	}

}
