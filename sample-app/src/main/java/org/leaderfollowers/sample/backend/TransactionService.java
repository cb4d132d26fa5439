package org.leaderfollowers.sample.backend;

import java.util.Objects;
import java.util.Optional;
import java.util.UUID;

import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult.Committed;

import org.springframework.context.annotation.Profile;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.jdbc.support.KeyHolder;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/**
 * The transaction of TPC-B: moves the balances of an account, of its teller and of its
 * branch, appends to the history, and returns the new balance of the account.
 * <p>
 * Every transaction locks one row of each table in the same order, so that no two
 * transactions can wait for each other. The row that most of them share, the branch,
 * comes last, so its lock is held for the shortest time.
 * <p>
 * The history contains the identifier of each order, so that no order is carried out
 * twice: the second transaction with the same identifier fails as a whole.
 */
// tag::service[]
@Service
@Profile(Tiers.BACK_END)
class TransactionService {

	private final JdbcClient jdbc;

	TransactionService(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	/**
	 * Carries out an order.
	 * @param order identifies the order
	 * @param request the request
	 * @return the result
	 * @throws RejectedException if it cannot be carried out
	 * @throws DuplicateKeyException if it was carried out before
	 */
	@Transactional
	public Committed execute(UUID order, TransactionRequest request) {
		move("account", request.account(), request.delta());
		long balance = this.jdbc.sql("SELECT balance FROM account WHERE id = :id")
			.param("id", request.account())
			.query(Long.class)
			.single();
		move("teller", request.teller(), request.delta());
		move("branch", request.branch(), request.delta());
		return new Committed(request.account(), balance, append(order, request, balance));
	}

	/**
	 * Looks for the result of an order that may have been carried out before.
	 * @param order identifies the order
	 * @return the result, if the order was carried out
	 */
	@Transactional(readOnly = true)
	public Optional<Committed> find(UUID order) {
		return this.jdbc.sql("SELECT account_id, balance, id FROM history WHERE order_id = :order")
			.param("order", order)
			.query((row, number) -> new Committed(row.getLong(1), row.getLong(2), row.getLong(3)))
			.optional();
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

	private long append(UUID order, TransactionRequest request, long balance) {
		KeyHolder key = new GeneratedKeyHolder();
		this.jdbc.sql("""
				INSERT INTO history (order_id, account_id, teller_id, branch_id, delta, balance)
				VALUES (:order, :account, :teller, :branch, :delta, :balance)
				""")
			.param("order", order)
			.param("account", request.account())
			.param("teller", request.teller())
			.param("branch", request.branch())
			.param("delta", request.delta())
			.param("balance", balance)
			.update(key, "id");
		return Objects.requireNonNull(key.getKeyAs(Long.class));
	}

}
// end::service[]
