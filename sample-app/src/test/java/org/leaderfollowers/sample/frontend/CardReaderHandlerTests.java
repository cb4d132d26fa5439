package org.leaderfollowers.sample.frontend;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionContestedException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link CardReaderHandler}.
 */
class CardReaderHandlerTests {

	private static final Duration READER_TIMEOUT = Duration.ofSeconds(10);

	private final Connection reader = mock();

	private final LfSessions sessions = mock();

	private final CardReaderHandler handler = new CardReaderHandler(this.sessions, new FrontEndProperties(5000,
			Duration.ofSeconds(90), Duration.ofSeconds(30), READER_TIMEOUT, Duration.ofSeconds(5)));

	@Test
	void readerLogsInByName() {
		assertThat(this.handler.logIn("reader-7", this.reader)).isEqualTo("WELCOME reader-7");
		verify(this.sessions).bind(this.reader, "reader-7");
	}

	@Test
	void readerWhoseNameIsContestedIsNotWelcome() {
		given(this.sessions.bind(this.reader, "reader-7")).willThrow(mock(SessionContestedException.class));
		assertThat(this.handler.logIn("reader-7", this.reader)).isEqualTo("LATER");
	}

	@Test
	void tillGetsTheAnswerOfTheReader() {
		given(this.sessions.exchangeAsync("reader-7", "Pay 25.00 now?", String.class, READER_TIMEOUT))
			.willReturn(CompletableFuture.completedFuture("YES"));
		assertThat(this.handler.ask("reader-7 Pay 25.00 now?")).isCompletedWithValue("YES");
	}

	/** A till that hears of a failure may ask another reader to pay. */
	@Test
	void onlyAQuestionThatWasNotSentHasFailed() {
		given(this.sessions.exchangeAsync(any(), any(), eq(String.class), any()))
			.willReturn(CompletableFuture.failedFuture(new ExchangeRejectedException("not there", null)))
			.willReturn(CompletableFuture
				.failedFuture(new CompletionException(new ExchangeRejectedException("not there", null))))
			.willReturn(CompletableFuture.failedFuture(new ExchangeTimeoutException("no answer", null)))
			.willReturn(
					CompletableFuture.failedFuture(new CompletionException(new IllegalStateException("a mistake"))));
		assertThat(this.handler.ask("reader-7 Pay?")).isCompletedWithValue("FAILED not there");
		assertThat(this.handler.ask("reader-7 Pay?")).isCompletedWithValue("FAILED not there");
		assertThat(this.handler.ask("reader-7 Pay?")).isCompletedWithValue("UNKNOWN no answer");
		assertThat(this.handler.ask("reader-7 Pay?")).isCompletedWithValue("UNKNOWN a mistake");
	}

	@Test
	void questionNeedsAName() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.handler.ask("reader-7"))
			.withMessageContaining("ASK needs");
	}

}
