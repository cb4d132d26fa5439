package org.leaderfollowers.sample.backend;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.sample.OltpTest;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.TransactionResult.Rejected;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests that no order is executed twice, whichever back end gets it. */
@OltpTest
@Timeout(120)
class OrderTests {

	@Autowired
	private TransactionProcessor processor;

	@Autowired
	private JdbcClient jdbc;

	private final UUID order = UUID.randomUUID();

	@Test
	void orderThatComesAgainHasTheSameResult() {
		TransactionResult first = execute(6001, 5);
		assertThat(execute(6001, 5)).isEqualTo(first).isInstanceOf(Committed.class);
		assertThat(balance(6001)).isEqualTo(5);
	}

	@Test
	void orderIsNotRejectedForWhatItHasChangedItself() {
		this.jdbc.sql("UPDATE account SET balance = :balance WHERE id = 6002")
			.param("balance", Long.MAX_VALUE - 5)
			.update();
		try {
			TransactionResult first = execute(6002, 5);
			assertThat(execute(6002, 5)).isEqualTo(first).isInstanceOf(Committed.class);
		}
		finally {
			// Other tests use the same balances.
			this.jdbc.sql("UPDATE account SET balance = 5 WHERE id = 6002").update();
		}
	}

	@Test
	void orderThatWasRejectedMayComeAgain() {
		assertThat(this.processor.process(this.order, new TransactionRequest(6003, 11, 1, 5)))
			.isInstanceOf(Rejected.class);
		assertThat(execute(6003, 5)).isInstanceOf(Committed.class);
	}

	@Test
	void orderThatComesToManyAtTheSameTimeIsCarriedOutOnce() throws Exception {
		int threads = 8;
		ExecutorService executor = Executors.newFixedThreadPool(threads);
		try {
			List<Future<TransactionResult>> results = new ArrayList<>();
			for (int i = 0; i < threads; i++) {
				results.add(executor.submit(() -> execute(6004, 5)));
			}
			TransactionResult first = results.get(0).get(60, TimeUnit.SECONDS);
			assertThat(first).isInstanceOf(Committed.class);
			for (Future<TransactionResult> result : results) {
				assertThat(result.get(60, TimeUnit.SECONDS)).isEqualTo(first);
			}
		}
		finally {
			executor.shutdownNow();
		}
		assertThat(balance(6004)).isEqualTo(5);
	}

	private TransactionResult execute(long account, long delta) {
		return this.processor.process(this.order, new TransactionRequest(account, 3, 1, delta));
	}

	private long balance(long account) {
		return this.jdbc.sql("SELECT balance FROM account WHERE id = :id")
			.param("id", account)
			.query(Long.class)
			.single();
	}

}
