package org.leaderfollowers.sample;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

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

import org.springframework.stereotype.Component;

/**
 * The protocol: a JSON object for each request and for each result, without line feeds.
 * <p>
 * It is strict, because it moves money: what is not understood as a whole is not carried
 * out. Nothing of a malformed line is repeated in its reply.
 */
@Component
class OltpProtocol {

	private static final String NO_REQUEST = "A request is one JSON object with account, teller, branch and delta, and nothing else";

	private final ObjectReader reader;

	private final ObjectWriter writer;

	OltpProtocol(JsonMapper mapper) {
		this.reader = mapper.rebuild()
			.disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
			.build()
			.readerFor(TransactionRequest.class)
			.with(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES,
					DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES, DeserializationFeature.FAIL_ON_TRAILING_TOKENS,
					DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
			.with(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
			.without(DeserializationFeature.ACCEPT_FLOAT_AS_INT);
		this.writer = mapper.writerFor(TransactionResult.class);
	}

	/**
	 * Reads a request.
	 * @param message the line, from position to limit
	 * @return the request
	 * @throws InvalidRequestException if the line is no such request
	 */
	TransactionRequest read(ByteBuffer message) {
		try {
			// Decoded first, and strictly: Jackson would guess other encodings than
			// UTF-8.
			String line = StandardCharsets.UTF_8.newDecoder().decode(message).toString();
			TransactionRequest request = this.reader.readValue(line);
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
		// What the JSON literal null is read as.
		throw new InvalidRequestException(NO_REQUEST);
	}

	/** Says what is wrong in words of the protocol, which Jackson cannot know. */
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

	/**
	 * Writes a result.
	 * @param result the result
	 * @return the line
	 */
	ByteBuffer write(TransactionResult result) {
		return ByteBuffer.wrap(this.writer.writeValueAsBytes(result));
	}

}
