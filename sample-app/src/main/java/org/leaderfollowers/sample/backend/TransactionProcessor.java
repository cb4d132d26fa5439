package org.leaderfollowers.sample.backend;

import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.TransactionResult.Rejected;
import org.leaderfollowers.sample.TransactionResult.Unknown;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.context.annotation.Profile;
import org.springframework.core.retry.RetryPolicy;
import org.springframework.core.retry.RetryTemplate;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.stereotype.Component;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.TransactionException;

/**
 * Performs a transaction: repeats it if the database cannot serialize it with others, and
 * converts failures to results. Each attempt is a separate transaction, so this code
 * cannot be in {@link TransactionService}.
 */
@Component
@Profile(Tiers.BACK_END)
class TransactionProcessor {

	private static final Logger logger = LoggerFactory.getLogger(TransactionProcessor.class);

	private static final long LOG_INTERVAL = TimeUnit.SECONDS.toNanos(10);

	private final TransactionService transactions;

	private final RetryTemplate retry;

	private final AtomicLong nextLog = new AtomicLong(System.nanoTime());

	TransactionProcessor(TransactionService transactions, OltpProperties properties) {
		this.transactions = transactions;
		// Serialization conflicts, deadlocks and lock timeouts: the database has rolled
		// the transaction back.
		this.retry = new RetryTemplate(RetryPolicy.builder()
			.includes(ConcurrencyFailureException.class)
			.maxRetries(properties.maxAttempts() - 1)
			.delay(Duration.ofMillis(10))
			.multiplier(2)
			.jitter(Duration.ofMillis(10))
			.maxDelay(Duration.ofMillis(200))
			.build());
	}

	/**
	 * Carries out an order.
	 * @param order identifies the order: an order that was carried out before is not
	 * carried out again, and has the same result
	 * @param request the request
	 * @return the result
	 */
	TransactionResult process(UUID order, TransactionRequest request) {
		try {
			return this.retry.invoke(() -> execute(order, request));
		}
		catch (RejectedException ex) {
			return new Rejected(ex.getMessage());
		}
		catch (ConcurrencyFailureException ex) {
			logger.debug("Gave up a transaction after the last attempt", ex);
			return new Rejected("Too many others move the same balances; nothing was changed, try again");
		}
		catch (CannotCreateTransactionException ex) {
			log(ex);
			return new Rejected("The database cannot be reached; nothing was changed, try again later");
		}
		catch (DataAccessException | TransactionException ex) {
			log(ex);
			return new Unknown("The database failed; see the balance before you try again");
		}
	}

	/**
	 * If an order is repeated, it may be rejected because of the balances that it has
	 * changed itself. The history is therefore checked before the rejection.
	 */
	private Committed execute(UUID order, TransactionRequest request) {
		try {
			return this.transactions.execute(order, request);
		}
		catch (DuplicateKeyException | RejectedException ex) {
			return this.transactions.find(order).orElseThrow(() -> ex);
		}
	}

	/**
	 * If the database is unavailable, every request fails, so only one line in ten
	 * seconds is logged.
	 */
	private void log(Exception failure) {
		long now = System.nanoTime();
		long next = this.nextLog.get();
		if (now - next >= 0 && this.nextLog.compareAndSet(next, now + LOG_INTERVAL)) {
			logger.error("A transaction failed; further failures are not logged for 10 seconds", failure);
		}
	}

}
