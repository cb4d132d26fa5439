package org.leaderfollowers.spring.autoconfigure;

import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.health.LeaderFollowersHealthContributor;
import org.leaderfollowers.spring.health.PoolHealthIndicator;
import org.leaderfollowers.spring.health.ServerHealthIndicator;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.autoconfigure.contributor.HealthContributorAutoConfiguration;
import org.springframework.boot.health.autoconfigure.registry.HealthContributorRegistryAutoConfiguration;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.boot.health.contributor.HealthContributors;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.registry.HealthContributorRegistry;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderFollowersHealthContributorAutoConfiguration}.
 */
class LeaderFollowersHealthContributorAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersHealthContributorAutoConfiguration.class, HealthContributorAutoConfiguration.class,
				HealthContributorRegistryAutoConfiguration.class))
		.withUserConfiguration(Handlers.class)
		.withPropertyValues("lf.server.port=0", "lf.servers.orders.port=0", "lf.servers.orders.pool=slow",
				"lf.pools.slow.threads.max=8");

	@Test
	void everyPoolAndEveryServerHasAnIndicator() {
		this.contextRunner.run((context) -> {
			assertThat(context).hasSingleBean(LeaderFollowersHealthContributor.class);
			CompositeHealthContributor contributor = (CompositeHealthContributor) context
				.getBean(HealthContributorRegistry.class)
				.getContributor("lf");
			assertThat(contributor).isNotNull();
			assertThat(contributor.getContributor("something")).isNull();
			assertThat(names(contributor.stream())).containsExactly("pools", "servers", "clients");
			CompositeHealthContributor pools = (CompositeHealthContributor) contributor.getContributor("pools");
			CompositeHealthContributor servers = (CompositeHealthContributor) contributor.getContributor("servers");
			assertThat(pools).isNotNull();
			assertThat(servers).isNotNull();
			assertThat(names(pools.stream())).containsExactly("default", "slow");
			assertThat(names(servers.stream())).containsExactly("default", "orders");
			assertThat(pools.getContributor("slow")).isInstanceOf(PoolHealthIndicator.class);
			assertThat(pools.getContributor("fast")).isNull();
			assertThat(servers.getContributor("orders")).isInstanceOf(ServerHealthIndicator.class);
		});
	}

	@Test
	void serverThatIsStartedAgainIsUpAgain() {
		this.contextRunner.run((context) -> {
			HealthIndicator orders = indicator(context.getBean(LeaderFollowersHealthContributor.class), "servers",
					"orders");
			assertThat(orders.health(false)).isEqualTo(Health.up().build());
			context.getSourceApplicationContext().stop();
			assertThat(orders.health(false)).isEqualTo(Health.outOfService().build());
			context.getSourceApplicationContext().start();
			assertThat(orders.health(false)).isEqualTo(Health.up().build());
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "management.health.lf.enabled=false", "management.health.defaults.enabled=false",
			"lf.enabled=false" })
	void canBeSwitchedOff(String property) {
		this.contextRunner.withPropertyValues(property)
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(LeaderFollowersHealthContributor.class));
	}

	@Test
	void canBeSwitchedOnAlone() {
		this.contextRunner
			.withPropertyValues("management.health.defaults.enabled=false", "management.health.lf.enabled=true")
			.run((context) -> assertThat(context).hasSingleBean(LeaderFollowersHealthContributor.class));
	}

	@ParameterizedTest
	@ValueSource(strings = { "lfHealthIndicator", "lfHealthContributor" })
	void indicatorOfTheUserTakesItsPlace(String name) {
		this.contextRunner.withBean(name, HealthIndicator.class, () -> () -> Health.up().build())
			.run((context) -> assertThat(context).hasNotFailed()
				.hasBean(name)
				.doesNotHaveBean(LeaderFollowersHealthContributor.class));
	}

	@Test
	void aChildContextShowsItsOwnServers() {
		this.contextRunner.run((parent) -> this.contextRunner.withParent(parent)
			.run((child) -> assertThat(child.getBean(LeaderFollowersHealthContributor.class))
				.isNotSameAs(parent.getBean(LeaderFollowersHealthContributor.class))));
	}

	@Test
	void withoutBootsHealthEverythingElseWorks() {
		new ApplicationContextRunner().withClassLoader(new FilteredClassLoader("org.springframework.boot.health"))
			.withUserConfiguration(SelectedByName.class)
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderFollowersServers.class)
				.doesNotHaveBean(LeaderFollowersHealthContributorAutoConfiguration.class));
	}

	@Test
	void withoutTheEngineThereIsNone() {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(LeaderFollowersHealthContributorAutoConfiguration.class))
			.withClassLoader(new FilteredClassLoader(TcpServer.class))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(HealthContributor.class));
	}

	@ParameterizedTest
	@ValueSource(strings = { "0s", "-1s" })
	void limitOfSaturationThatIsNotPositiveFails(String limit) {
		this.contextRunner.withPropertyValues("lf.health.saturated-after=" + limit)
			.run((context) -> assertThat(context.getStartupFailure()).rootCause()
				.hasMessageContaining("lf.health.saturated-after")
				.hasMessageContaining("Must be positive"));
	}

	@Test
	void detailsCanBeWrittenByANativeImage() {
		RuntimeHints hints = new RuntimeHints();
		new LeaderFollowersHealthContributorAutoConfiguration.DetailsRuntimeHints().registerHints(hints, null);
		for (Class<?> detail : List.of(PoolHealthIndicator.Threads.class, PoolSnapshot.RunningHandler.class,
				ServerHealthIndicator.Connections.class, ClientSnapshot.Address.class)) {
			assertThat(RuntimeHintsPredicates.reflection()
				.onMethodInvocation(detail, detail.getRecordComponents()[0].getName())).accepts(hints);
		}
	}

	private static HealthIndicator indicator(CompositeHealthContributor contributor, String kind, String name) {
		CompositeHealthContributor composite = (CompositeHealthContributor) contributor.getContributor(kind);
		assertThat(composite).isNotNull();
		HealthIndicator indicator = (HealthIndicator) composite.getContributor(name);
		assertThat(indicator).isNotNull();
		return indicator;
	}

	private static List<String> names(Stream<HealthContributors.Entry> entries) {
		return entries.map(HealthContributors.Entry::name).toList();
	}

	@Configuration(proxyBeanMethods = false)
	@Import(LeaderFollowersEndpointAutoConfigurationTests.OwnAutoConfigurations.class)
	static class SelectedByName {

	}

	@Configuration(proxyBeanMethods = false)
	static class Handlers {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return new EchoHandler();
		}

		@Bean
		@LfHandler("orders")
		MessageHandler orders() {
			return new EchoHandler();
		}

	}

}
