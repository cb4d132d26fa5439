package org.leaderfollowers.sample.backend;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.client.ClientProtocol;
import org.mockito.ArgumentCaptor;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.dao.CannotAcquireLockException;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.support.SimpleTransactionStatus;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.atLeastOnce;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link ConversationHandler} with a database that fails.
 */
class ConversationHandlerTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(30);

	private static final TransactionRequest REQUEST = new TransactionRequest(42, 3, 1, 5);

	private final Connection connection = mock();

	private final TransactionService transactions = mock();

	private final PlatformTransactionManager transactionManager = mock();

	private final ClientProtocol protocol = mock();

	private final ConversationHandler handler = new ConversationHandler(this.transactions, this.transactionManager,
			this.protocol, JsonMapper.builder().build(), new OltpProperties(1, 5, 0, Duration.ofSeconds(1), TIMEOUT));

	@Test
	void outcomeIsUnknownWhenTheCommitFails() {
		SimpleTransactionStatus status = new SimpleTransactionStatus();
		given(this.transactionManager.getTransaction(any())).willReturn(status);
		willThrow(new TransactionSystemException("reset")).given(this.transactionManager).commit(status);
		given(this.connection.receive(TIMEOUT)).willReturn(line("COMMIT"));
		assertThat(lastReply()).contains("\"UNKNOWN\"");
	}

	@Test
	void transactionThatFailsIsRolledBack() {
		SimpleTransactionStatus status = new SimpleTransactionStatus();
		given(this.transactionManager.getTransaction(any())).willReturn(status);
		given(this.protocol.read(any())).willReturn(REQUEST);
		given(this.transactions.execute(any(), any())).willThrow(new CannotAcquireLockException("deadlock"));
		given(this.connection.receive(TIMEOUT)).willReturn(line("{}"));
		assertThat(lastReply()).contains("\"ROLLED_BACK\"", "try again");
		verify(this.transactionManager).rollback(status);
	}

	@Test
	void conversationWithoutDatabaseIsRolledBack() {
		given(this.transactionManager.getTransaction(any()))
			.willThrow(new CannotCreateTransactionException("no connection"));
		assertThat(lastReply()).contains("\"ROLLED_BACK\"", "try again");
	}

	private String lastReply() {
		this.handler.onMessage(this.connection, line("BEGIN"));
		ArgumentCaptor<ByteBuffer> replies = ArgumentCaptor.captor();
		verify(this.connection, atLeastOnce()).send(replies.capture());
		return StandardCharsets.UTF_8.decode(replies.getValue()).toString();
	}

	private static ByteBuffer line(String text) {
		return StandardCharsets.UTF_8.encode(text);
	}

}
