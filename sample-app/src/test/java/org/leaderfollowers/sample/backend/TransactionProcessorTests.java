package org.leaderfollowers.sample.backend;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.TransactionResult.Rejected;
import org.leaderfollowers.sample.TransactionResult.Unknown;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.dao.PessimisticLockingFailureException;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.util.StringUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link TransactionProcessor} with a database that fails.
 */
@ExtendWith(OutputCaptureExtension.class)
class TransactionProcessorTests {

	private static final UUID ORDER = UUID.randomUUID();

	private static final TransactionRequest REQUEST = new TransactionRequest(42, 3, 1, 5);

	private static final Committed COMMITTED = new Committed(42, 5, 1);

	private final TransactionService service = mock();

	private final TransactionProcessor processor = new TransactionProcessor(this.service,
			new OltpProperties(1, 3, 0, Duration.ofSeconds(1), Duration.ofSeconds(1)));

	static List<DataAccessException> conflicts() {
		return List.of(new CannotAcquireLockException("serialization"),
				new PessimisticLockingFailureException("deadlock"), new ConcurrencyFailureException("other"));
	}

	@ParameterizedTest
	@MethodSource("conflicts")
	void repeatsAfterConflict(DataAccessException conflict) {
		given(this.service.execute(ORDER, REQUEST)).willThrow(conflict).willThrow(conflict).willReturn(COMMITTED);
		assertThat(this.processor.process(ORDER, REQUEST)).isEqualTo(COMMITTED);
		verify(this.service, times(3)).execute(ORDER, REQUEST);
	}

	@ParameterizedTest
	@MethodSource("conflicts")
	void givesUpAfterLastAttempt(DataAccessException conflict, CapturedOutput output) {
		given(this.service.execute(ORDER, REQUEST)).willThrow(conflict);
		assertThat(this.processor.process(ORDER, REQUEST))
			.isEqualTo(new Rejected("Too many others move the same balances; nothing was changed, try again"));
		verify(this.service, times(3)).execute(ORDER, REQUEST);
		assertThat(output).doesNotContain("A transaction failed");
	}

	@Test
	void doesNotRepeatWhatIsRejected() {
		given(this.service.execute(ORDER, REQUEST)).willThrow(new RejectedException("There is no account 42"));
		assertThat(this.processor.process(ORDER, REQUEST)).isEqualTo(new Rejected("There is no account 42"));
		verify(this.service).execute(ORDER, REQUEST);
	}

	@Test
	void findsResultOfOrderThatWasCarriedOutBefore() {
		given(this.service.execute(ORDER, REQUEST)).willThrow(new DuplicateKeyException("order_id"),
				new RejectedException("The balance of account 42 would be out of range"));
		given(this.service.find(ORDER)).willReturn(Optional.of(COMMITTED));
		assertThat(this.processor.process(ORDER, REQUEST)).isEqualTo(COMMITTED);
		assertThat(this.processor.process(ORDER, REQUEST)).isEqualTo(COMMITTED);
	}

	@Test
	void rejectsWhenDatabaseCannotBeReached(CapturedOutput output) {
		given(this.service.execute(ORDER, REQUEST)).willThrow(new CannotCreateTransactionException("no connection"));
		assertThat(this.processor.process(ORDER, REQUEST))
			.isEqualTo(new Rejected("The database cannot be reached; nothing was changed, try again later"));
		verify(this.service).execute(ORDER, REQUEST);
		assertThat(output).contains("A transaction failed", "no connection");
	}

	@Test
	void doesNotClaimToKnowTheOutcomeOfOtherFailures() {
		Unknown unknown = new Unknown("The database failed; see the balance before you try again");
		given(this.service.execute(ORDER, REQUEST)).willThrow(new DataAccessResourceFailureException("reset"),
				new TransactionSystemException("commit"));
		assertThat(this.processor.process(ORDER, REQUEST)).isEqualTo(unknown);
		assertThat(this.processor.process(ORDER, REQUEST)).isEqualTo(unknown);
		verify(this.service, times(2)).execute(ORDER, REQUEST);
	}

	@Test
	void logsOneOfManyFailures(CapturedOutput output) {
		given(this.service.execute(ORDER, REQUEST)).willThrow(
				new DataAccessResourceFailureException("The database is away", new SQLException("Connection refused")));
		for (int i = 0; i < 100; i++) {
			this.processor.process(ORDER, REQUEST);
		}
		assertThat(StringUtils.countOccurrencesOf(output.getAll(), "A transaction failed")).isOne();
		assertThat(output).contains("Connection refused");
	}

	@Test
	void leavesOwnMistakesToTheServer() {
		given(this.service.execute(ORDER, REQUEST)).willThrow(new IllegalStateException("a mistake"));
		assertThatIllegalStateException().isThrownBy(() -> this.processor.process(ORDER, REQUEST));
		verify(this.service).execute(ORDER, REQUEST);
	}

}
