package org.leaderfollowers.spring.autoconfigure;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.EchoBeanMethod;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.ThreeHandlers;
import org.leaderfollowers.spring.server.LeaderFollowersPoolBuilderCustomizer;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.TcpServerBuilderCustomizer;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link TcpServerBuilderCustomizer} and
 * {@link LeaderFollowersPoolBuilderCustomizer}.
 */
class CustomizerTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
		.withPropertyValues("lf.server.port=0");

	@Test
	void serversAreCustomizedInOrderAfterTheirProperties() {
		this.contextRunner.withUserConfiguration(ThreeHandlers.class, InOrder.class)
			.withPropertyValues("lf.servers.orders.port=0", "lf.servers.quotes.port=0",
					"lf.servers.orders.max-connections=7")
			.run((context) -> {
				LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
				assertThat(servers.get("orders")).hasFieldOrPropertyWithValue("life.options.maxConnections", 2)
					.hasFieldOrPropertyWithValue("life.options.backlog", 5);
				assertThat(servers.get("quotes")).hasFieldOrPropertyWithValue("life.options.maxConnections", 10_000)
					.hasFieldOrPropertyWithValue("life.options.backlog", 5);
			});
	}

	@Test
	void poolsAreCustomizedAfterTheirProperties() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withPropertyValues("lf.pool.threads.max=20", "lf.pools.slow.threads.max=20")
			.withBean(LeaderFollowersPoolBuilderCustomizer.class, () -> (pool, builder) -> {
				if (pool.equals("slow")) {
					builder.threads(1, 30);
				}
			})
			.run((context) -> {
				LeaderFollowersPools pools = context.getBean(LeaderFollowersPools.class);
				assertThat(pools.get("default").snapshot().maxThreads()).isEqualTo(20);
				assertThat(pools.get("slow").snapshot().maxThreads()).isEqualTo(30);
			});
	}

	@Test
	void serverIsCustomizedAgainWhenItIsBuiltAgain() {
		this.contextRunner.withUserConfiguration(ThreeHandlers.class, InOrder.class)
			.withPropertyValues("lf.servers.orders.port=0", "lf.servers.quotes.port=0")
			.run((context) -> {
				LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
				context.getSourceApplicationContext().stop();
				context.getSourceApplicationContext().start();
				assertThat(servers.get("orders")).hasFieldOrPropertyWithValue("life.options.maxConnections", 2);
			});
	}

	@Test
	void customizerThatRenamesAServerFails() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withBean(TcpServerBuilderCustomizer.class, () -> (server, builder) -> builder.name("other"))
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessage("The server 'default' must keep its name, but was built as 'other'"));
	}

	@Configuration(proxyBeanMethods = false)
	static class InOrder {

		@Bean
		@Order(2)
		TcpServerBuilderCustomizer second() {
			return (server, builder) -> {
				if (server.equals("orders")) {
					builder.maxConnections(2);
				}
			};
		}

		@Bean
		@Order(1)
		TcpServerBuilderCustomizer first() {
			return (server, builder) -> {
				builder.backlog(5);
				if (server.equals("orders")) {
					builder.maxConnections(1);
				}
			};
		}

	}

}
