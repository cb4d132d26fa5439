package org.leaderfollowers.sample;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.TcpTestClient;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests the main task: clients send transactions to the server, and the balances stay
 * consistent.
 */
@OltpTest
@Timeout(600)
class OltpTests {

	@Autowired
	private JdbcClient jdbc;

	@Autowired
	private JsonMapper mapper;

	@LocalLfServerPort
	private int port;

	private long transactions;

	@BeforeEach
	void countTransactions() {
		this.transactions = count("history");
	}

	@AfterEach
	void booksAreBalanced() {
		long moved = number("SELECT COALESCE(SUM(delta), 0) FROM history");
		assertThat(number("SELECT SUM(balance) FROM account")).isEqualTo(moved);
		assertThat(number("SELECT SUM(balance) FROM teller")).isEqualTo(moved);
		assertThat(number("SELECT SUM(balance) FROM branch")).isEqualTo(moved);
	}

	@Test
	void hasOneUnitOfData() {
		assertThat(count("branch")).isEqualTo(1);
		assertThat(count("teller")).isEqualTo(10);
		assertThat(count("account")).isEqualTo(10_000);
		assertThat(number("SELECT MAX(id) FROM account")).isEqualTo(10_000);
	}

	@Test
	void answersAsDocumented() {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			assertThat(client.exchange(Oltp.request(42, 3, 1, 100_000))).matches(
					"\\Q{\"status\":\"COMMITTED\",\"account\":42,\"balance\":100000,\"transaction\":\\E[1-9][0-9]*}");
			long last = lastTransaction();
			assertThat(client.exchange(Oltp.request(42, 3, 1, -1500))).isEqualTo(Oltp.committed(42, 98_500, last + 1));
			assertThat(client.exchange(Oltp.request(42, 11, 1, 1))).isEqualTo(Oltp.rejected("There is no teller 11"));
			assertThat(client.exchange("deposit 5")).isEqualTo(Oltp.invalid("Malformed JSON at column 1"));
			assertThat(client.exchange(Oltp.request(42, 3, 1, 0) + "\r")).contains("\"balance\":98500,");
		}
		assertThat(transactions()).isEqualTo(3);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			0                    | 3   | 1  | 5                    | There is no account 0
			10001                | 3   | 1  | 5                    | There is no account 10001
			-7                   | 3   | 1  | 5                    | There is no account -7
			9223372036854775807  | 3   | 1  | 5                    | There is no account 9223372036854775807
			7                    | 0   | 1  | 5                    | There is no teller 0
			7                    | 11  | 1  | 5                    | There is no teller 11
			7                    | 3   | 2  | 5                    | There is no branch 2
			7                    | 3   | -1 | 5                    | There is no branch -1
			10001                | 11  | 2  | 5                    | There is no account 10001
			7                    | 3   | 1  | -9223372036854775808 | The balance of account 7 would be out of range
			""")
	void changesNothingWhenRejected(long account, long teller, long branch, long delta, String reason) {
		// Makes every balance negative, so that the amount of the last row exceeds the
		// range.
		execute(7, 3, 1, -1);
		List<Long> before = balances();
		this.transactions = count("history");
		try (TcpTestClient client = Oltp.connect(this.port)) {
			for (int i = 0; i < 2; i++) {
				assertThat(exchangeAndConfirm(client, Oltp.request(account, teller, branch, delta)))
					.isEqualTo(Oltp.rejected(reason));
			}
			assertThat(balances()).isEqualTo(before);
			assertThat(transactions()).isZero();
			assertThat(client.exchange(Oltp.request(7, 3, 1, 1))).contains("COMMITTED");
		}
	}

	@Test
	void livesOnAfterInvalidLines() {
		List<Long> before = balances();
		try (TcpTestClient client = Oltp.connect(this.port)) {
			client.send("", "hello", "{}", "[".repeat(60_000), Oltp.request(8, 3, 1, 0) + "}");
			client.sendRaw(new byte[] { (byte) 0xff, (byte) 0xfe, 0, '\n' });
			for (int i = 0; i < 6; i++) {
				assertThat(client.receive()).startsWith("{\"status\":\"INVALID\",\"reason\":\"");
			}
			assertThat(balances()).isEqualTo(before);
			assertThat(client.exchange(Oltp.request(8, 3, 1, 0))).contains("COMMITTED");
		}
		assertThat(transactions()).isEqualTo(1);
	}

	@Test
	void readsNothingButUtf8() {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			byte[] utf16 = Oltp.request(10, 3, 1, 5).getBytes(StandardCharsets.UTF_16);
			client.sendRaw(utf16);
			client.sendRaw(new byte[] { '\n' });
			assertThat(client.receive()).isEqualTo(Oltp.invalid("The line is not UTF-8"));
		}
	}

	@Test
	void answersAndClosesWhenLineIsTooLong() {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			client.send(Oltp.request(9, 3, 1, 0));
			client.sendRaw("x".repeat(66_000));
			assertThat(client.receive()).contains("COMMITTED");
			assertThat(client.receive()).isEqualTo(Oltp.invalid("The line is too long for a request"));
			assertThat(client).isClosedByServer();
		}
	}

	@Test
	void answersClientThatHasSaidAll() {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			client.send(Collections.nCopies(20, Oltp.request(8, 3, 1, 0)).toArray(String[]::new));
			client.shutdownOutput();
			for (int i = 0; i < 20; i++) {
				assertThat(client.receive()).contains("COMMITTED");
			}
			assertThat(client).isClosedByServer();
		}
	}

	@Test
	void answersBurstInOrder() {
		int burst = 500;
		String[] requests = IntStream.range(0, burst)
			.mapToObj((i) -> Oltp.request(1000 + i, 1 + i % 10, 1, i))
			.toArray(String[]::new);
		try (TcpTestClient client = Oltp.connect(this.port)) {
			client.send(requests);
			long last = 0;
			for (int i = 0; i < burst; i++) {
				Committed committed = committed(client.receive());
				assertThat(committed.account()).isEqualTo(1000 + i);
				assertThat(committed.balance()).isEqualTo(i);
				assertThat(committed.transaction()).isGreaterThan(last);
				last = committed.transaction();
			}
		}
		assertThat(transactions()).isEqualTo(burst);
	}

	@Test
	void manyClientsDepositOnOneAccount() throws Exception {
		int clients = 50;
		int deposits = 40;
		long account = 4711;
		long cents = 7;
		List<Long> before = balances();
		List<Long> balances = new ArrayList<>();
		ExecutorService executor = Executors.newFixedThreadPool(clients);
		List<Future<List<Committed>>> results = new ArrayList<>();
		for (int i = 0; i < clients; i++) {
			int teller = 1 + i % 10;
			results.add(executor.submit(() -> deposit(account, teller, cents, deposits)));
		}
		// If one client fails, the others still end before the next test.
		executor.shutdown();
		assertThat(executor.awaitTermination(280, TimeUnit.SECONDS)).isTrue();
		for (Future<List<Committed>> result : results) {
			result.get().forEach((committed) -> balances.add(committed.balance()));
		}
		// Each deposit returned a different balance: its own result.
		assertThat(balances).containsExactlyInAnyOrderElementsOf(
				LongStream.rangeClosed(1, clients * deposits).mapToObj((n) -> n * cents).toList());
		assertThat(transactions()).isEqualTo(clients * deposits);
		assertThat(balance("account", account)).isEqualTo(clients * deposits * cents);
		for (int teller = 1; teller <= 10; teller++) {
			assertThat(balance("teller", teller)).isEqualTo(before.get(teller - 1) + clients / 10 * deposits * cents);
		}
	}

	private List<Committed> deposit(long account, int teller, long cents, int times) {
		List<Committed> results = new ArrayList<>();
		try (TcpTestClient client = Oltp.connect(this.port)) {
			for (int i = 0; i < times; i++) {
				results.add(committed(client.exchange(Oltp.request(account, teller, 1, cents))));
			}
		}
		return results;
	}

	private static String exchangeAndConfirm(TcpTestClient client, String request) {
		String reply = client.exchange(request);
		return reply.contains("CONFIRM") ? client.exchange("{\"confirm\":true}") : reply;
	}

	private void execute(long account, long teller, long branch, long delta) {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			committed(client.exchange(Oltp.request(account, teller, branch, delta)));
		}
	}

	private Committed committed(String reply) {
		assertThat(reply).contains("COMMITTED");
		return (Committed) this.mapper.readValue(reply, TransactionResult.class);
	}

	/** Tellers, branch, and all accounts. */
	private List<Long> balances() {
		return this.jdbc.sql("""
				SELECT balance FROM (
					SELECT 1 AS kind, id, balance FROM teller UNION ALL
					SELECT 2, id, balance FROM branch UNION ALL
					SELECT 3, id, balance FROM account) all_balances
				ORDER BY kind, id
				""").query(Long.class).list();
	}

	private long balance(String table, long id) {
		return number("SELECT balance FROM " + table + " WHERE id = " + id);
	}

	private long transactions() {
		return count("history") - this.transactions;
	}

	private long lastTransaction() {
		return number("SELECT MAX(id) FROM history");
	}

	private long count(String table) {
		return number("SELECT COUNT(*) FROM " + table);
	}

	private long number(String sql) {
		return this.jdbc.sql(sql).query(Long.class).single();
	}

}
