package org.leaderfollowers.docs.testing;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.test.LfHandlerTest;
import org.leaderfollowers.spring.test.LfHandlerTest.ServerEnvironment;
import org.leaderfollowers.spring.test.LfTestClients;
import org.leaderfollowers.spring.test.client.LfTestClient;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;

// tag::tests[]
@LfHandlerTest(handlers = PriceHandler.class, serverEnvironment = ServerEnvironment.IN_MEMORY)
@Import(Prices.class)
class PriceInMemorySliceTests {

	@Test
	void tellsThePrice(@Autowired LfTestClients clients) {
		try (LfTestClient client = clients.openInMemory()) {
			client.send("tea");
			assertThat(client).receives("costs 2.50");
		}
	}

}
// end::tests[]
