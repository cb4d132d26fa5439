package org.leaderfollowers.sample;

import java.sql.SQLException;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.TransactionResult.Rejected;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataAccessResourceFailureException;
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

	private static final TransactionRequest REQUEST = new TransactionRequest(42, 3, 1, 5);

	private static final Committed COMMITTED = new Committed(42, 5, 1);

	private final TransactionService service = mock();

	private final TransactionProcessor processor = new TransactionProcessor(this.service, new OltpProperties(1, 3));

	static List<DataAccessException> conflicts() {
		return List.of(new CannotAcquireLockException("serialization"),
				new PessimisticLockingFailureException("deadlock"), new ConcurrencyFailureException("other"));
	}

	@ParameterizedTest
	@MethodSource("conflicts")
	void repeatsAfterConflict(DataAccessException conflict) {
		given(this.service.execute(REQUEST)).willThrow(conflict).willThrow(conflict).willReturn(COMMITTED);
		assertThat(this.processor.process(REQUEST)).isEqualTo(COMMITTED);
		verify(this.service, times(3)).execute(REQUEST);
	}

	@ParameterizedTest
	@MethodSource("conflicts")
	void givesUpAfterLastAttempt(DataAccessException conflict, CapturedOutput output) {
		given(this.service.execute(REQUEST)).willThrow(conflict);
		assertThat(this.processor.process(REQUEST))
			.isEqualTo(new Rejected("Too many others move the same balances; nothing was changed, try again"));
		verify(this.service, times(3)).execute(REQUEST);
		assertThat(output).isEmpty();
	}

	@Test
	void doesNotRepeatWhatIsRejected() {
		given(this.service.execute(REQUEST)).willThrow(new RejectedException("There is no account 42"));
		assertThat(this.processor.process(REQUEST)).isEqualTo(new Rejected("There is no account 42"));
		verify(this.service).execute(REQUEST);
	}

	@Test
	void rejectsWhenDatabaseCannotBeReached() {
		given(this.service.execute(REQUEST)).willThrow(new CannotCreateTransactionException("no connection"));
		assertThat(this.processor.process(REQUEST))
			.isEqualTo(new Rejected("The database cannot be reached; nothing was changed, try again later"));
		verify(this.service).execute(REQUEST);
	}

	@Test
	void doesNotClaimToKnowTheOutcomeOfOtherFailures() {
		Rejected unknown = new Rejected("The database failed; see the balance before you try again");
		given(this.service.execute(REQUEST)).willThrow(new DataAccessResourceFailureException("reset"),
				new TransactionSystemException("commit"));
		assertThat(this.processor.process(REQUEST)).isEqualTo(unknown);
		assertThat(this.processor.process(REQUEST)).isEqualTo(unknown);
		verify(this.service, times(2)).execute(REQUEST);
	}

	@Test
	void logsOneOfManyFailures(CapturedOutput output) {
		given(this.service.execute(REQUEST)).willThrow(
				new DataAccessResourceFailureException("The database is away", new SQLException("Connection refused")));
		for (int i = 0; i < 100; i++) {
			this.processor.process(REQUEST);
		}
		assertThat(StringUtils.countOccurrencesOf(output.getAll(), "A transaction failed")).isOne();
		assertThat(output).contains("Connection refused");
	}

	@Test
	void leavesOwnMistakesToTheServer() {
		given(this.service.execute(REQUEST)).willThrow(new IllegalStateException("a mistake"));
		assertThatIllegalStateException().isThrownBy(() -> this.processor.process(REQUEST));
		verify(this.service).execute(REQUEST);
	}

}
