package org.leaderfollowers.sample;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.annotation.DirtiesContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests conversations: several transactions in one transaction of the database.
 */
@SpringBootTest(webEnvironment = WebEnvironment.NONE, properties = { "sample.oltp.conversation-timeout=15s",
		"spring.datasource.url=jdbc:h2:mem:conversations;DB_CLOSE_DELAY=-1;DB_CLOSE_ON_EXIT=FALSE;LOCK_TIMEOUT=5000" })
@DirtiesContext
@Timeout(120)
class ConversationTests {

	private static final String BEGUN = "{\"status\":\"BEGUN\"}";

	@Autowired
	private JdbcClient jdbc;

	@LocalLfServerPort
	private int port;

	@LocalLfServerPort("conversations")
	private int conversations;

	@BeforeEach
	void emptyAccounts() {
		this.jdbc.sql("UPDATE account SET balance = 0 WHERE id IN (1, 2)").update();
		this.jdbc.sql("DELETE FROM history").update();
	}

	@Test
	void commitsAllTransactionsTogether() {
		try (TcpTestClient client = Oltp.connect(this.conversations)) {
			for (int i = 1; i <= 3; i++) {
				assertThat(client.exchange("BEGIN")).isEqualTo(BEGUN);
				assertThat(client.exchange(Oltp.request(1, 1, 1, -500))).contains("MOVED",
						"\"account\":1,\"balance\":" + -500 * i);
				assertThat(client.exchange(Oltp.request(2, 1, 1, 500))).contains("MOVED",
						"\"account\":2,\"balance\":" + 500 * i);
				assertThat(history()).isEqualTo(2 * (i - 1));
				assertThat(client.exchange("COMMIT")).isEqualTo("{\"status\":\"COMMITTED\",\"transactions\":2}");
				assertThat(balance(1)).isEqualTo(-500 * i);
				assertThat(balance(2)).isEqualTo(500 * i);
				assertThat(history()).isEqualTo(2 * i);
			}
		}
	}

	@Test
	void answersClientThatSendsAllAtOnce() {
		try (TcpTestClient client = Oltp.connect(this.conversations)) {
			client.send("BEGIN", Oltp.request(1, 1, 1, 5), "COMMIT", "BEGIN", Oltp.request(1, 1, 1, 7), "ROLLBACK");
			client.shutdownOutput();
			assertThat(client.receive(6)).satisfiesExactly((begun) -> assertThat(begun).isEqualTo(BEGUN),
					(moved) -> assertThat(moved).contains("\"balance\":5,"),
					(committed) -> assertThat(committed).contains("COMMITTED"),
					(begun) -> assertThat(begun).isEqualTo(BEGUN),
					(moved) -> assertThat(moved).contains("\"balance\":12,"),
					(rolledBack) -> assertThat(rolledBack).contains("ROLLED_BACK"));
			assertThat(client).isClosedByServer();
		}
		assertThat(balance(1)).isEqualTo(5);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
			ROLLBACK                                             | The client has asked for it
			{"account":99999,"teller":1,"branch":1,"delta":1}    | There is no account 99999
			hello                                                | Malformed JSON at column 1
			BEGIN                                                | Malformed JSON at column 1
			""")
	void rollsBackAllTransactionsTogether(String line, String reason) {
		try (TcpTestClient client = Oltp.connect(this.conversations)) {
			assertThat(client.exchange("BEGIN")).isEqualTo(BEGUN);
			assertThat(client.exchange(Oltp.request(1, 1, 1, 5))).contains("MOVED");
			assertThat(client.exchange(line))
				.isEqualTo("{\"status\":\"ROLLED_BACK\",\"reason\":\"%s\"}".formatted(reason));
			assertThat(balance(1)).isZero();
			assertThat(client.exchange("BEGIN")).isEqualTo(BEGUN);
		}
		assertThat(history()).isZero();
	}

	@Test
	void rollsBackWhenClientFallsSilent() {
		try (TcpTestClient client = Oltp.connect(this.conversations)) {
			assertThat(client.exchange("BEGIN")).isEqualTo(BEGUN);
			assertThat(client.exchange(Oltp.request(1, 1, 1, 5))).contains("MOVED");
			assertThat(client.receive())
				.isEqualTo("{\"status\":\"ROLLED_BACK\",\"reason\":\"The client has sent nothing for PT15S\"}");
			assertThat(balance(1)).isZero();
			assertThat(client.exchange("COMMIT")).contains("INVALID");
		}
	}

	@Test
	void rollsBackWhenClientLeaves() {
		try (TcpTestClient client = Oltp.connect(this.conversations)) {
			assertThat(client.exchange("BEGIN")).isEqualTo(BEGUN);
			assertThat(client.exchange(Oltp.request(1, 1, 1, 5))).contains("MOVED");
		}
		// The account is no longer locked.
		try (TcpTestClient other = Oltp.connect(this.port)) {
			assertThat(other.exchange(Oltp.request(1, 1, 1, 0))).contains("COMMITTED", "\"balance\":0,");
		}
	}

	@Test
	void othersSeeNothingBeforeTheEnd() {
		try (TcpTestClient client = Oltp.connect(this.conversations); TcpTestClient other = Oltp.connect(this.port)) {
			assertThat(client.exchange("BEGIN")).isEqualTo(BEGUN);
			assertThat(client.exchange(Oltp.request(1, 1, 1, 5))).contains("MOVED");
			other.send(Oltp.request(1, 1, 1, 1));
			assertThat(client.exchange("COMMIT")).contains("COMMITTED");
			assertThat(other.receive()).contains("\"balance\":6,");
		}
	}

	@Test
	void conversationsTakeThreadsOfTheirOwn() {
		List<TcpTestClient> clients = new ArrayList<>();
		try (TcpTestClient other = Oltp.connect(this.port)) {
			for (int i = 0; i < 16; i++) {
				TcpTestClient client = Oltp.connect(this.conversations);
				clients.add(client);
				assertThat(client.exchange("BEGIN")).isEqualTo(BEGUN);
			}
			assertThat(other.exchange(Oltp.request(2, 1, 1, 1))).contains("COMMITTED");
			clients.forEach((client) -> assertThat(client.exchange("COMMIT")).contains("\"transactions\":0"));
		}
		finally {
			clients.forEach(TcpTestClient::close);
		}
	}

	@Test
	void saysHowToBegin() {
		try (TcpTestClient client = Oltp.connect(this.conversations)) {
			assertThat(client.exchange(Oltp.request(1, 1, 1, 5)))
				.isEqualTo("{\"status\":\"INVALID\",\"reason\":\"A conversation begins with BEGIN\"}");
		}
	}

	private long balance(long account) {
		return number("SELECT balance FROM account WHERE id = " + account);
	}

	private long history() {
		return number("SELECT COUNT(*) FROM history");
	}

	private long number(String sql) {
		return this.jdbc.sql(sql).query(Long.class).single();
	}

}
