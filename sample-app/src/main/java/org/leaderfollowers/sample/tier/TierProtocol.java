package org.leaderfollowers.sample.tier;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.sample.TransactionResult;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.context.annotation.Bean;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.messaging.support.GenericMessage;
import org.springframework.stereotype.Component;

/**
 * The messages between the tiers: the number of an exchange in 8 bytes, 1 byte that says
 * whether the message is a request or a reply, and JSON.
 * <p>
 * Both sides send requests on one connection: the front end sends orders, and a back end
 * asks for confirmations. Each side numbers its own requests, so a request of the peer
 * may have the same number as a request of this side that waits for its reply. The byte
 * distinguishes them.
 */
@Component
@RegisterReflectionForBinding({ Order.class, ConfirmationRequest.class, Confirmation.class })
public class TierProtocol implements MessageConverter {

	private static final byte REQUEST = 0;

	private static final byte REPLY = 1;

	private static final int HEADER = Long.BYTES + 1;

	private final JsonMapper mapper;

	TierProtocol(JsonMapper mapper) {
		// An order without its identifier could be carried out twice.
		this.mapper = mapper.rebuild()
			.enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES,
					DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES,
					DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
			.build();
	}

	// tag::correlation[]
	@Bean
	static Correlation tierCorrelation() {
		return Correlation.stamped(Long.MAX_VALUE, (request, number) -> request.putLong(request.position(), number),
				(message) -> isReply(message) ? number(message) : -1);
	}
	// end::correlation[]

	/**
	 * Whether a message is a reply and not a request of the peer.
	 * @param message from position to limit, which do not change
	 * @return {@code true} for a reply
	 */
	public static boolean isReply(ByteBuffer message) {
		return message.remaining() >= HEADER && message.get(message.position() + Long.BYTES) == REPLY;
	}

	/**
	 * Returns the number of the exchange that a message belongs to.
	 * @param message from position to limit, which do not change
	 * @return the number
	 * @throws IllegalArgumentException if the message has no header
	 */
	public static long number(ByteBuffer message) {
		if (message.remaining() < HEADER) {
			throw new IllegalArgumentException("A message between the tiers has at least %d bytes, but this one has %d"
				.formatted(HEADER, message.remaining()));
		}
		return message.getLong(message.position());
	}

	/**
	 * Writes a request. The {@linkplain #tierCorrelation() correlation} numbers it.
	 * @param body an {@link Order} or a {@link ConfirmationRequest}
	 * @return the payload
	 */
	public ByteBuffer request(Object body) {
		return ByteBuffer.wrap(write(0, REQUEST, body));
	}

	/**
	 * Writes a reply.
	 * @param number the number of the request
	 * @param body a {@link TransactionResult} or a {@link Confirmation}
	 * @return the payload
	 */
	public ByteBuffer reply(long number, Object body) {
		return ByteBuffer.wrap(write(number, REPLY, body));
	}

	private byte[] write(long number, byte kind, Object body) {
		byte[] json = (body instanceof TransactionResult)
				? this.mapper.writerFor(TransactionResult.class).writeValueAsBytes(body)
				: this.mapper.writeValueAsBytes(body);
		return ByteBuffer.allocate(HEADER + json.length).putLong(number).put(kind).put(json).array();
	}

	/**
	 * Reads the body of a message.
	 * @param <T> its type
	 * @param message from position to limit, which do not change
	 * @param type its type
	 * @return the body
	 * @throws JacksonException if the body has another type
	 */
	public <T> T read(ByteBuffer message, Class<T> type) {
		byte[] bytes = new byte[message.remaining()];
		message.get(message.position(), bytes);
		return read(bytes, type);
	}

	private <T> T read(byte[] message, Class<T> type) {
		int length = Math.max(0, message.length - HEADER);
		return this.mapper.readValue(message, message.length - length, length, type);
	}

	/** Converts an order to a message, for {@code @LfClient} interfaces. */
	@Override
	public @Nullable Message<?> toMessage(Object payload, @Nullable MessageHeaders headers) {
		return (payload instanceof Order) ? new GenericMessage<>(write(0, REQUEST, payload)) : null;
	}

	/** Reads the result of an order, for {@code @LfClient} interfaces. */
	@Override
	public @Nullable Object fromMessage(Message<?> message, Class<?> targetClass) {
		return (targetClass == TransactionResult.class && message.getPayload() instanceof byte[] bytes)
				? read(bytes, TransactionResult.class) : null;
	}

}
