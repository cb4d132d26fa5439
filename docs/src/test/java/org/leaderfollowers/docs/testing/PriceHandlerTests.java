package org.leaderfollowers.docs.testing;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.spring.test.client.InMemoryTestClient;
import org.leaderfollowers.spring.test.client.LfTestClient;

import static org.assertj.core.api.Assertions.assertThat;

// tag::tests[]
class PriceHandlerTests {

	private final PriceHandler handler = new PriceHandler(new Prices());

	@Test
	void tellsThePrice() {
		try (InMemoryTestClient client = LfTestClient.inMemory(this.handler).open()) {
			client.send("tea", "gold");
			assertThat(client).receives("costs 2.50", "unknown").receivesNothing();
		}
	}

	@Test
	void leavesWhenToldTo() {
		InMemoryTestClient client = LfTestClient.inMemory(this.handler).open();
		client.send("bye", "tea");
		assertThat(client).isClosedByServer();
		assertThat(client.closeReason()).isEqualTo(CloseReason.LOCAL);
	}

	// end::tests[]

	// tag::slow[]
	@Test
	void repliesWaitForAClientThatDoesNotRead() {
		try (InMemoryTestClient client = LfTestClient.inMemory(this.handler).maxOutboundSize(40).open()) {
			client.stopReading();
			client.send("tea", "tea", "tea");
			// Two replies are half of the limit: the third request is not handled yet.
			assertThat(client.connection().isWritable()).isFalse();
			client.startReading();
			assertThat(client).receives("costs 2.50", "costs 2.50", "costs 2.50");
		}
	}
	// end::slow[]

	// tag::tests[]

}
// end::tests[]
