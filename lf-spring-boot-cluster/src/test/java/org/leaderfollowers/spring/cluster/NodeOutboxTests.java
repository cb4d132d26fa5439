package org.leaderfollowers.spring.cluster;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.ExchangeRejectedException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.Mockito.mock;

class NodeOutboxTests {

	private static final int LIMIT = 100;

	/** What was sent, until the node has it. */
	private final List<CompletableFuture<Void>> sent = new ArrayList<>();

	private final ClusterEngine engine = mock((call) -> {
		CompletableFuture<Void> future = new CompletableFuture<>();
		this.sent.add(future);
		return future;
	});

	private final NodeOutbox outbox = new NodeOutbox(this.engine, LIMIT);

	private CompletableFuture<Void> send(int length) {
		return this.outbox.send("north", new byte[length]);
	}

	private static void assertRejected(CompletableFuture<Void> result) {
		assertThat(result).isCompletedExceptionally();
		assertThatThrownBy(result::join).hasCauseInstanceOf(ExchangeRejectedException.class);
	}

	@Test
	void asManyBytesAsTheLimitMayWait() {
		send(LIMIT - 1);
		assertThat(send(1)).isNotDone();
		assertRejected(send(1));
	}

	@Test
	void theBytesOfAMessageCountUntilItIsSent() {
		send(LIMIT / 2);
		send(LIMIT / 2);
		this.sent.get(0).complete(null);
		assertRejected(send(LIMIT / 2 + 1));
		assertThat(send(LIMIT / 2)).isNotDone();
	}

	/** Nodes come and go, each with another name. */
	@Test
	void nothingIsKeptOfANodeForWhichNothingWaits() {
		send(LIMIT / 2);
		send(LIMIT);
		this.sent.get(0).complete(null);
		assertThat(this.outbox).hasFieldOrPropertyWithValue("waiting", Map.of());
	}

}
