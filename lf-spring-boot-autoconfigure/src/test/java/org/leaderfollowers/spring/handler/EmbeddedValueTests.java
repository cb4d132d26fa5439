package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.Discriminator;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.client.ImportLfClients;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Payload;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Placeholders and SpEL expressions in annotations.
 */
class EmbeddedValueTests {

	private final ApplicationContextRunner runner = HandlerRunner.of()
		.withPropertyValues("my.name=default", "my.prefix=PUT", "my.property=kind", "my.type=deposit",
				"my.header=tenant", "my.client=ledger");

	@Test
	void prefixes() {
		HandlerRunner.talk(this.runner.withUserConfiguration(Prefixes.class), (client, context) -> {
			assertThat(client.ask("PUT x")).isEqualTo("put x");
			assertThat(client.ask("GET2 x")).isEqualTo("get x");
		});
	}

	@Test
	void typesAndTheirProperty() {
		HandlerRunner.talk(this.runner.withUserConfiguration(Types.class), (client, context) -> {
			assertThat(client.ask("{\"kind\":\"deposit\"}")).isEqualTo("deposited");
			assertThat(client.ask("{\"kind\":\"withdrawal\"}")).isEqualTo("other");
		});
	}

	@Test
	void namesAndDefaultValuesOfHeaders() {
		HandlerRunner.talk(this.runner.withUserConfiguration(Headers.class), (client, context) -> {
			assertThat(client.ask("x")).isEqualTo("none y 3");
			assertThat(client.ask("x")).isEqualTo("set y 3");
		});
	}

	@Test
	void serversAndClientsOfHandlers() {
		this.runner
			.withPropertyValues("lf.clients.ledger.addresses=127.0.0.1:1",
					"lf.clients.ledger.correlation.type=in-order")
			.withUserConfiguration(Prefixes.class, Notices.class)
			.run((context) -> {
				HandlerBeans beans = context.getBean(HandlerBeans.class);
				assertThat(beans.findByServer()).containsOnlyKeys("default");
				assertThat(beans.findByClient()).containsOnlyKeys("ledger");
			});
	}

	@Test
	void sourcesOfHandlers() {
		this.runner.withUserConfiguration(Events.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("There is no event source named 'tenants'"));
	}

	@Test
	void clientsOfInterfaces() {
		this.runner
			.withPropertyValues("lf.clients.ledger.addresses=127.0.0.1:1",
					"lf.clients.ledger.correlation.type=in-order")
			.withUserConfiguration(Prefixes.class, Clients.class)
			.run((context) -> assertThat(context.getBean(Ledger.class)).asString().endsWith("of client 'ledger'"));
	}

	@Test
	void expressionsOfPayloadsAreRefused() {
		this.runner.withUserConfiguration(Expression.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining(
						"Method take(String) has the payload 'String name' with the expression 'name', but expressions in @Payload are not supported"));
	}

	@LfHandler("${my.name}")
	static class Prefixes {

		@OnMessage(prefix = "${my.prefix} ")
		String put(String payload) {
			return "put " + payload;
		}

		@OnMessage(prefix = "GET#{1 + 1} ")
		String get(String payload) {
			return "get " + payload;
		}

	}

	@LfHandler
	@Discriminator("${my.property}")
	static class Types {

		@OnMessage("${my.type}")
		String deposit() {
			return "deposited";
		}

		@OnMessage(isDefault = true)
		String other() {
			return "other";
		}

	}

	@LfHandler
	static class Headers {

		@OnMessage
		String headers(@Header(name = "${my.header}", defaultValue = "none") String tenant,
				@Header(defaultValue = "${my.missing:y}") String other, @Header(defaultValue = "#{1 + 2}") int number,
				Connection connection) {
			connection.attributes().put("tenant", "set");
			return tenant + " " + other + " " + number;
		}

	}

	@LfHandler(client = "${my.client}")
	static class Notices {

		@OnMessage
		void notice(ByteBuffer notice) {
		}

	}

	@LfHandler(source = "${my.header}s")
	static class Events {

		@OnMessage
		void handle(Object event) {
		}

	}

	@LfHandler
	static class Expression {

		@OnMessage
		String take(@Payload("name") String name) {
			return name;
		}

	}

	@LfClient("${my.client}")
	interface Ledger {

		@Exchange
		String book(String order);

	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(Ledger.class)
	static class Clients {

	}

}
