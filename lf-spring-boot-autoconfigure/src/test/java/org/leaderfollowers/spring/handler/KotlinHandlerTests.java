package org.leaderfollowers.spring.handler;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Handlers that are written in Kotlin.
 */
class KotlinHandlerTests {

	@Test
	void nullableAndDefaultArguments() {
		HandlerRunner.talk(HandlerRunner.of(KotlinHandler.class), (client, context) -> {
			assertThat(client.ask("order {\"item\":\"tea\",\"quantity\":2}")).isEqualTo("2 x tea null");
			assertThat(client.ask("nullable ")).isEqualTo("null by null");
			assertThat(client.ask("default a")).isEqualTo("a 7 nobody");
			assertThat(client.ask("fail b")).isEqualTo("failed: b 7");
			client.send("unit ");
			client.send("login ada");
			assertThat(client.ask("default a")).isEqualTo("a 3 ada");
			assertThat(client.ask("fail b")).isEqualTo("failed: b 3");
			assertThat(client.ask("nullable {\"item\":\"tea\",\"quantity\":2}")).isEqualTo("tea by ada");
		});
	}

}
