package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.ConnectionSnapshot;
import org.leaderfollowers.ServiceClass;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.UnknownNameException;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A bean of type {@link ServiceClass} chooses the pools of connections by their names.
 */
@Timeout(60)
class ServiceClassTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
		.withBean(WhichThread.class)
		.withPropertyValues("lf.server.port=0", "lf.pools.gold.threads.max=8", "lf.pools.bulk.threads.min=1",
				"lf.pools.bulk.threads.max=2");

	private static String firstWord(ByteBuffer message) {
		return StandardCharsets.US_ASCII.decode(message).toString().split(" ")[0];
	}

	private static ApplicationContextRunner withBean(ApplicationContextRunner runner) {
		return runner.withBean("byFirstWord", ServiceClass.class, () -> (connection, first) -> {
			String word = firstWord(first);
			return word.equals("default") ? null : word;
		});
	}

	@LfHandler
	static class WhichThread {

		@OnMessage
		String tell(String message) {
			return Thread.currentThread().getName().replaceFirst("^lf-(.*)-[0-9]+$", "$1");
		}

	}

	private static String ask(AssertableApplicationContext context, String message) throws Exception {
		TcpServer server = (TcpServer) context.getBean(LeaderFollowersServers.class).get("default");
		try (LineClient client = new LineClient(server.port())) {
			String pool = client.ask(message);
			assertThat(client.ask("again")).isEqualTo(pool);
			assertThat(server.connections().map(ConnectionSnapshot::pool)).contains(pool);
			return pool;
		}
	}

	@Test
	void aConnectionIsServedByThePoolThatItsFirstMessageChooses() {
		withBean(this.runner).run((context) -> {
			for (String pool : List.of("gold", "bulk", "default")) {
				assertThat(ask(context, pool + " please")).isEqualTo(pool);
			}
		});
	}

	@Test
	void onlyTheDeclaredPoolsCanBeChosen() {
		withBean(this.runner).withPropertyValues("lf.server.service-classes=bulk").run((context) -> {
			assertThat(ask(context, "bulk please")).isEqualTo("bulk");
			TcpServer server = (TcpServer) context.getBean(LeaderFollowersServers.class).get("default");
			try (LineClient client = new LineClient(server.port())) {
				assertThat(client.ask("gold please")).isEqualTo("<closed>");
			}
		});
	}

	@Test
	void anUnknownPoolIsReportedAtTheStart() {
		withBean(this.runner).withPropertyValues("lf.server.service-classes=gold,golden").run((context) -> {
			assertThat(context).hasFailed();
			assertThat(context.getStartupFailure()).rootCause()
				.isInstanceOfSatisfying(UnknownNameException.class, (ex) -> {
					assertThat(ex.getName()).isEqualTo("golden");
					assertThat(ex.getReference()).isEqualTo("lf.server.service-classes");
				});
		});
	}

	@Test
	void classesWithoutABeanAreReportedAtTheStart() {
		this.runner.withPropertyValues("lf.server.service-classes=gold").run((context) -> {
			assertThat(context).hasFailed();
			assertThat(context.getStartupFailure()).rootCause()
				.isInstanceOfSatisfying(InvalidConfigurationPropertyValueException.class, (ex) -> {
					assertThat(ex.getName()).isEqualTo("lf.server.service-classes");
					assertThat(ex.getReason()).contains(ServiceClass.class.getName());
				});
		});
	}

	@Test
	void aDatagramHasNoClass() {
		withBean(this.runner).withPropertyValues("lf.server.transport=udp", "lf.server.service-classes=gold")
			.run((context) -> assertThat(context).hasFailed()
				.getFailure()
				.rootCause()
				.isInstanceOfSatisfying(InvalidConfigurationPropertyValueException.class,
						(ex) -> assertThat(ex.getName()).isEqualTo("lf.server.service-classes")));
	}

}
