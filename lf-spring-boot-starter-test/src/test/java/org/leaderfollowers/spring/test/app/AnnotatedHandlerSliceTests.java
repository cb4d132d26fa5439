package org.leaderfollowers.spring.test.app;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.test.LfHandlerTest;
import org.leaderfollowers.spring.test.LfHandlerTest.ServerEnvironment;
import org.leaderfollowers.spring.test.LfTestClients;
import org.leaderfollowers.spring.test.client.InMemoryTestClient;

import org.springframework.beans.factory.annotation.Autowired;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Calls in memory work like those of a server: arguments are converted and validated, and
 * interceptors and error handlers are called.
 */
@LfHandlerTest(handlers = OrderHandler.class, serverEnvironment = ServerEnvironment.IN_MEMORY)
@Timeout(120)
class AnnotatedHandlerSliceTests {

	@Autowired
	private LfTestClients clients;

	@Autowired
	private CountingInterceptor interceptor;

	@Test
	void messagesAreConvertedValidatedAndIntercepted() {
		int before = this.interceptor.messages.get();
		try (InMemoryTestClient client = this.clients.openInMemory("orders")) {
			client.send("{\"product\":\"tea\",\"count\":3}");
			assertThat(client).receives("{\"product\":\"tea\",\"price\":6}");
			client.send("{\"product\":\"tea\",\"count\":0}", "{}}", "{\"product\":\"\",\"count\":1}");
			assertThat(client)
				.receives("refused by PayloadValidationException", "unreadable", "refused by IllegalArgumentException")
				.receivesNothing();
			assertThat(client.failures()).isEmpty();
		}
		assertThat(this.interceptor.messages.get() - before).isEqualTo(4);
	}

}
