package org.leaderfollowers.sample.client;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.sample.Oltp;
import org.leaderfollowers.sample.TransactionRequest;
import tools.jackson.databind.json.JsonMapper;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any line of a client: it is a complete request, which means the same when it is written
 * again, or it is refused for a reason that does not repeat it.
 */
class ClientProtocolFuzzTests {

	private static final ClientProtocol PROTOCOL = new ClientProtocol(JsonMapper.builder().build());

	/** Lines from which the fuzzer begins. */
	static Stream<byte[]> lines() {
		return Stream
			.of(Oltp.request(42, 3, 1, -1500), "{\"confirm\":true}", "null", "{\"account\":1e2}",
					"{\"account\":\"1\",\"teller\":null}")
			.map((line) -> line.getBytes(StandardCharsets.UTF_8));
	}

	@MethodSource("lines")
	@FuzzTest
	void lineIsARequestOrIsRefused(byte[] line) {
		PROTOCOL.isConfirmation(ByteBuffer.wrap(line));
		try {
			TransactionRequest request = PROTOCOL.read(line);
			String written = Oltp.request(request.account(), request.teller(), request.branch(), request.delta());
			assertThat(PROTOCOL.read(written.getBytes(StandardCharsets.UTF_8))).isEqualTo(request);
		}
		catch (InvalidRequestException ex) {
			assertThat(ex.getMessage())
				.matches("A request is one JSON object with account, teller, branch and delta, and nothing else"
						+ "|'(account|teller|branch|delta)' must be given, as a whole number of at most 64 bits"
						+ "|Malformed JSON( at column [0-9]+)?|The line is not UTF-8");
		}
	}

}
