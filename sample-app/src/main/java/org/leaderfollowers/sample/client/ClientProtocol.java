package org.leaderfollowers.sample.client;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.exc.InputCoercionException;
import tools.jackson.databind.DatabindException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.ObjectReader;
import tools.jackson.databind.ObjectWriter;
import tools.jackson.databind.exc.UnrecognizedPropertyException;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.messaging.support.GenericMessage;
import org.springframework.stereotype.Component;

/**
 * The protocol: one JSON object for each request and for each result, without line feeds.
 * As a message converter, it creates the argument of the handler method, and converts the
 * returned value to the reply.
 * <p>
 * It is strict because it moves money: a request that is not completely valid is not
 * carried out. A reply never repeats parts of a malformed line.
 * <p>
 * Before a large amount is moved, the teller is asked to confirm it. The next line counts
 * as the answer, so a client must not pipeline requests behind a large amount.
 */
@Component
public class ClientProtocol implements MessageConverter {

	private static final String NO_REQUEST = "A request is one JSON object with account, teller, branch and delta, and nothing else";

	private final ObjectReader reader;

	private final ObjectReader answerReader;

	private final ObjectWriter writer;

	ClientProtocol(JsonMapper mapper) {
		ObjectReader strict = mapper.rebuild()
			.disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
			.build()
			.reader()
			.with(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES,
					DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES, DeserializationFeature.FAIL_ON_TRAILING_TOKENS,
					DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
			.with(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
			.without(DeserializationFeature.ACCEPT_FLOAT_AS_INT);
		this.reader = strict.forType(TransactionRequest.class);
		this.answerReader = strict.forType(Answer.class);
		this.writer = mapper.writerFor(TransactionResult.class);
	}

	@Override
	public @Nullable Object fromMessage(Message<?> message, Class<?> targetClass) {
		return (targetClass == TransactionRequest.class && message.getPayload() instanceof byte[] line) ? read(line)
				: null;
	}

	/**
	 * Reads a request.
	 * @param line the line, without its end
	 * @return the request
	 * @throws InvalidRequestException if the line is not a valid request
	 */
	public TransactionRequest read(byte[] line) {
		try {
			// Decoded strictly before parsing, because Jackson would detect encodings
			// other than UTF-8.
			String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(line)).toString();
			TransactionRequest request = this.reader.readValue(text);
			if (request != null) {
				return request;
			}
		}
		catch (CharacterCodingException ex) {
			throw new InvalidRequestException("The line is not UTF-8");
		}
		catch (JacksonException ex) {
			throw new InvalidRequestException(reason(ex));
		}
		// Jackson reads the JSON literal null as null.
		throw new InvalidRequestException(NO_REQUEST);
	}

	/** Describes the mistake in words of the protocol, which Jackson does not know. */
	private static String reason(JacksonException ex) {
		if (ex instanceof UnrecognizedPropertyException) {
			return NO_REQUEST;
		}
		if (ex instanceof DatabindException || ex instanceof InputCoercionException) {
			return ex.getPath().isEmpty() ? NO_REQUEST : "'%s' must be given, as a whole number of at most 64 bits"
				.formatted(ex.getPath().get(0).getPropertyName());
		}
		TokenStreamLocation location = ex.getLocation();
		return (location != null) ? "Malformed JSON at column " + location.getColumnNr() : "Malformed JSON";
	}

	@Override
	public @Nullable Message<?> toMessage(Object payload, @Nullable MessageHeaders headers) {
		return (payload instanceof TransactionResult result)
				? new GenericMessage<>(this.writer.writeValueAsBytes(result)) : null;
	}

	/**
	 * Writes the question whether the teller confirms an amount.
	 * @param request the request of the teller
	 * @return a line, for example
	 * <code>{"status":"CONFIRM","account":42,"delta":-2000000}</code>
	 */
	public ByteBuffer confirmationRequest(TransactionRequest request) {
		return StandardCharsets.UTF_8.encode(
				"{\"status\":\"CONFIRM\",\"account\":%s,\"delta\":%s}".formatted(request.account(), request.delta()));
	}

	/**
	 * Reads the answer to such a question.
	 * @param line the next line that the teller has sent
	 * @return {@code true} only for <code>{"confirm":true}</code>
	 */
	public boolean isConfirmation(ByteBuffer line) {
		try {
			Answer answer = this.answerReader.readValue(StandardCharsets.UTF_8.decode(line).toString());
			return answer != null && answer.confirm();
		}
		catch (JacksonException ex) {
			return false;
		}
	}

	private record Answer(boolean confirm) {
	}

}
