package org.leaderfollowers.sample;

import java.util.Objects;

import org.leaderfollowers.sample.TransactionResult.Committed;

import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.jdbc.support.KeyHolder;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/**
 * The transaction of TPC-B: moves the balances of an account, of its teller and of its
 * branch, appends to the history, and returns the new balance of the account.
 * <p>
 * Every transaction locks one row of each table and in the same order, so that no two of
 * them can wait for each other; and the row that most of them share, the branch, comes
 * last and is held the shortest.
 */
// tag::service[]
@Service
class TransactionService {

	private final JdbcClient jdbc;

	TransactionService(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	@Transactional
	public Committed execute(TransactionRequest request) {
		move("account", request.account(), request.delta());
		long balance = this.jdbc.sql("SELECT balance FROM account WHERE id = :id")
			.param("id", request.account())
			.query(Long.class)
			.single();
		move("teller", request.teller(), request.delta());
		move("branch", request.branch(), request.delta());
		return new Committed(request.account(), balance, append(request));
	}

	private void move(String table, long id, long delta) {
		int rows;
		try {
			rows = this.jdbc.sql("UPDATE " + table + " SET balance = balance + :delta WHERE id = :id")
				.param("delta", delta)
				.param("id", id)
				.update();
		}
		catch (DataIntegrityViolationException ex) {
			throw new RejectedException("The balance of %s %d would be out of range".formatted(table, id));
		}
		if (rows == 0) {
			throw new RejectedException("There is no %s %d".formatted(table, id));
		}
	}

	private long append(TransactionRequest request) {
		KeyHolder key = new GeneratedKeyHolder();
		this.jdbc.sql("""
				INSERT INTO history (account_id, teller_id, branch_id, delta)
				VALUES (:account, :teller, :branch, :delta)
				""").paramSource(request).update(key, "id");
		return Objects.requireNonNull(key.getKeyAs(Long.class));
	}

}
// end::service[]
