package org.leaderfollowers.sample.client;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Locale;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.sample.Oltp;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.TransactionResult.Invalid;
import org.leaderfollowers.sample.TransactionResult.Rejected;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.messaging.support.GenericMessage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link ClientProtocol}.
 */
class ClientProtocolTests {

	private static final String NO_REQUEST = "A request is one JSON object with account, teller, branch and delta, and nothing else";

	private final ClientProtocol protocol = new ClientProtocol(JsonMapper.builder().build());

	@ParameterizedTest
	@ValueSource(strings = { "{\"account\":42,\"teller\":3,\"branch\":1,\"delta\":-1500}",
			"{\"delta\":-1500,\"branch\":1,\"teller\":3,\"account\":42}",
			"  { \"account\" : 42 , \"teller\" : 3 , \"branch\" : 1 , \"delta\" : -1500 }\t",
			"{\"\\u0061ccount\":42,\"teller\":3,\"branch\":1,\"delta\":-1500}" })
	void readsRequest(String line) {
		assertThat(read(line)).isEqualTo(new TransactionRequest(42, 3, 1, -1500));
	}

	/** In this locale, {@code %d} writes other digits. */
	@Test
	void confirmationRequestIsJsonInEveryLocale() {
		Locale locale = Locale.getDefault();
		Locale.setDefault(Locale.forLanguageTag("ar-EG"));
		try {
			ByteBuffer line = this.protocol.confirmationRequest(new TransactionRequest(42, 3, 1, -1500));
			assertThat(StandardCharsets.UTF_8.decode(line).toString())
				.isEqualTo("{\"status\":\"CONFIRM\",\"account\":42,\"delta\":-1500}");
		}
		finally {
			Locale.setDefault(locale);
		}
	}

	@Test
	void readsWholeRangeOfLong() {
		assertThat(read(Oltp.request(Long.MAX_VALUE, 0, -1, Long.MIN_VALUE)))
			.isEqualTo(new TransactionRequest(Long.MAX_VALUE, 0, -1, Long.MIN_VALUE));
	}

	@Test
	void convertsNothingElse() {
		assertThat(this.protocol.fromMessage(new GenericMessage<>(new byte[0]), String.class)).isNull();
		assertThat(this.protocol.fromMessage(new GenericMessage<>("{}"), TransactionRequest.class)).isNull();
		assertThat(this.protocol.toMessage("a reply", null)).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "", " ", "null", "true", "1", "\"\"", "\"account\"", "[]", "[1,2,3,4]",
			"{\"account\":42,\"teller\":3,\"branch\":1,\"delta\":1} {}",
			"{\"account\":42,\"teller\":3,\"branch\":1,\"delta\":1} 1",
			"{\"account\":42,\"teller\":3,\"branch\":1,\"delta\":1,\"currency\":\"EUR\"}",
			"{\"currency\":{\"a\":[{}]},\"account\":42,\"teller\":3,\"branch\":1,\"delta\":1}" })
	void refusesWhatIsNotOneRequest(String line) {
		assertInvalid(line, NO_REQUEST);
	}

	@ParameterizedTest
	@ValueSource(strings = { "null", "true", "\"\"", "\"42\"", "42.0", "42.5", "1e3", "{}", "[]", "[42]", "{\"id\":42}",
			"9223372036854775808", "-9223372036854775809", "99999999999999999999999999999999999999" })
	void refusesValueThatIsNoLong(String value) {
		assertInvalid("{\"account\":42,\"teller\":3,\"branch\":1,\"delta\":%s}".formatted(value),
				"'delta' must be given, as a whole number of at most 64 bits");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
			{}                                                    | account
			{"teller":3,"branch":1,"delta":1}                     | account
			{"account":42,"branch":1,"delta":1}                   | teller
			{"account":42,"teller":3,"delta":1}                   | branch
			{"account":42,"teller":3,"branch":1}                  | delta
			{"Account":42,"teller":3,"branch":1,"delta":1}        | account
			{"account":"x","teller":3,"branch":1,"delta":1}       | account
			{"account":42,"teller":3,"branch":false,"delta":1}    | branch
			""")
	void saysWhichPropertyIsWrong(String line, String property) {
		assertInvalid(line, "'%s' must be given, as a whole number of at most 64 bits".formatted(property));
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
			hello                                                           | 1
			// a comment                                                    | 1
			{"account":42,                                                  | 15
			{'account':42}                                                  | 2
			{"account":+1}                                                  | 13
			{"account":042}                                                 | 13
			{"account":0x2A}                                                | 13
			{"account":42,"account":42,"teller":3,"branch":1,"delta":1}     | 24
			{"account":42,"teller":3,"branch":1,"delta":1,}                 | 47
			{"account":42,"teller":3,"branch":1,"delta":1}x                 | 47
			{"account":42,"teller":3,"branch":1,"delta":1}}                 | 47
			""")
	void saysWhereJsonIsMalformed(String line, int column) {
		assertInvalid(line, "Malformed JSON at column " + column);
	}

	@ParameterizedTest
	@ValueSource(strings = { "ff", "fffe", "fefffe", "00", "0000007b", "7b22ff223a317d", "7b22c3223a317d", "efbbbf",
			"7b22eda080223a317d", "1b5b324a", "7b226163636f756e74223a34320d0d7d" })
	void refusesBytesThatAreNoJson(String hex) {
		assertThatExceptionOfType(InvalidRequestException.class).isThrownBy(() -> read(HexFormat.of().parseHex(hex)));
	}

	@Test
	void refusesDepthAndLength() {
		assertInvalid("[".repeat(4000), NO_REQUEST);
		assertInvalid("{\"account\":" + "[".repeat(4000),
				"'account' must be given, as a whole number of at most 64 bits");
		assertInvalid("{\"x\":" + "[".repeat(4000), "Malformed JSON");
		assertInvalid("{\"account\":" + "9".repeat(4000) + "}", "Malformed JSON");
		assertInvalid(Oltp.request(42, 3, 1, 5).replace("}", ",\"" + "x".repeat(4000) + "\":1}"), NO_REQUEST);
	}

	@Test
	void writesResults() {
		assertThat(write(new Committed(42, 98500, 17)))
			.isEqualTo("{\"status\":\"COMMITTED\",\"account\":42,\"balance\":98500,\"transaction\":17}");
		assertThat(write(new Rejected("There is no account 7")))
			.isEqualTo("{\"status\":\"REJECTED\",\"reason\":\"There is no account 7\"}");
		assertThat(write(new Invalid("Malformed JSON")))
			.isEqualTo("{\"status\":\"INVALID\",\"reason\":\"Malformed JSON\"}");
	}

	@Test
	void writesReasonOnOneLine() {
		assertThat(write(new Invalid("a\r\n\"b\"\\\0"))).isEqualTo("{\"status\":\"INVALID\",\"reason\":\"%s\"}",
				"a\\r\\n\\\"b\\\"\\\\\\u0000");
	}

	private TransactionRequest read(String line) {
		return read(line.getBytes(StandardCharsets.UTF_8));
	}

	private TransactionRequest read(byte[] line) {
		return (TransactionRequest) this.protocol.fromMessage(new GenericMessage<>(line), TransactionRequest.class);
	}

	private String write(TransactionResult result) {
		return new String((byte[]) this.protocol.toMessage(result, null).getPayload(), StandardCharsets.UTF_8);
	}

	private void assertInvalid(String line, String reason) {
		assertThatExceptionOfType(InvalidRequestException.class).isThrownBy(() -> read(line)).withMessage(reason);
	}

}
