package org.leaderfollowers.sample;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that a back end asks the teller before it moves a large amount, through the
 * connection that the order came from.
 */
@OltpTest
@Timeout(120)
class ConfirmationTests {

	private static final String CONFIRM = "{\"status\":\"CONFIRM\",\"account\":%d,\"delta\":%d}";

	private static final String NOT_CONFIRMED = Oltp
		.rejected("The next line did not confirm the amount; nothing was changed");

	@LocalLfServerPort
	private int port;

	@ParameterizedTest
	@ValueSource(longs = { 3001, 8001 })
	void movesLargeAmountWhenTellerConfirms(long account) {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			assertThat(client.exchange(Oltp.request(account, 3, 1, 1_000_000))).contains("\"balance\":1000000,");
			assertThat(client.exchange(Oltp.request(account, 3, 1, 1_000_001)))
				.isEqualTo(CONFIRM.formatted(account, 1_000_001));
			assertThat(client.exchange("{\"confirm\":true}")).contains("COMMITTED", "\"balance\":2000001,");
			assertThat(client.exchange(Oltp.request(account, 3, 1, -2_000_001)))
				.isEqualTo(CONFIRM.formatted(account, -2_000_001));
			assertThat(client.exchange(" { \"confirm\" : true } \r")).contains("COMMITTED", "\"balance\":0,");
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "{\"confirm\":false}", "{\"confirm\":null}", "{\"confirm\":\"true\"}", "{\"confirm\":1}",
			"{}", "", "true", "yes", "{\"confirm\":true}}", "{\"confirm\":true,\"confirm\":true}",
			"{\"account\":3002,\"teller\":3,\"branch\":1,\"delta\":1}" })
	void movesNothingWhenTellerDoesNot(String answer) {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			assertThat(client.exchange(Oltp.request(3002, 3, 1, 5_000_000))).contains("CONFIRM");
			assertThat(client.exchange(answer)).isEqualTo(NOT_CONFIRMED);
			assertThat(client.exchange(Oltp.request(3002, 3, 1, 0))).contains("\"balance\":0,");
		}
	}

	@Test
	void movesNothingWhenTellerLeaves() {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			assertThat(client.exchange(Oltp.request(3003, 3, 1, 5_000_000))).contains("CONFIRM");
		}
		try (TcpTestClient client = Oltp.connect(this.port)) {
			assertThat(client.exchange(Oltp.request(3003, 3, 1, 0))).contains("\"balance\":0,");
		}
	}

	@Test
	void tellersWhoThinkDoNotHoldUpOthers() {
		List<TcpTestClient> thinking = new ArrayList<>();
		try (TcpTestClient other = Oltp.connect(this.port)) {
			for (int i = 0; i < 12; i++) {
				TcpTestClient client = Oltp.connect(this.port);
				thinking.add(client);
				assertThat(client.exchange(Oltp.request(3100 + i, 3, 1, 5_000_000))).contains("CONFIRM");
				assertThat(other.exchange(Oltp.request(3099, 3, 1, 1))).contains("COMMITTED");
			}
			for (TcpTestClient client : thinking) {
				assertThat(client.exchange("{\"confirm\":true}")).contains("COMMITTED", "\"balance\":5000000,");
			}
		}
		finally {
			thinking.forEach(TcpTestClient::close);
		}
	}

}
