package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Framing;
import org.leaderfollowers.PromotionOrder;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersInfoContributor.ClientInfo;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersInfoContributor.LeaderFollowersInfo;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersInfoContributor.PoolInfo;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersInfoContributor.PromotionInfo;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersInfoContributor.ServerInfo;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersInfoContributor.ThreadsInfo;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.actuate.autoconfigure.info.InfoContributorAutoConfiguration;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderFollowersInfoContributorAutoConfiguration}.
 */
class LeaderFollowersInfoContributorAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersInfoContributorAutoConfiguration.class, InfoContributorAutoConfiguration.class))
		.withBean("echo", Echo.class)
		.withPropertyValues("lf.server.port=0", "lf.pool.threads.min=2", "lf.pool.threads.max=8",
				"lf.pool.handle-sets=2", "lf.pool.parallelism=3", "lf.pool.max-buffered-size=16MB",
				"lf.pool.promotion.lease=5ms");

	@Test
	void isOffUnlessAskedFor() {
		this.contextRunner.run((context) -> assertThat(context).doesNotHaveBean(LeaderFollowersInfoContributor.class));
		this.contextRunner.withPropertyValues("management.info.defaults.enabled=true")
			.run((context) -> assertThat(context).doesNotHaveBean(LeaderFollowersInfoContributor.class));
	}

	@Test
	void tellsPoolsAndServers() {
		this.contextRunner.withPropertyValues("management.info.lf.enabled=true").run((context) -> {
			Info.Builder builder = new Info.Builder();
			context.getBean(LeaderFollowersInfoContributor.class).contribute(builder);
			LeaderFollowersInfo info = builder.build().get("lf", LeaderFollowersInfo.class);
			assertThat(info).isNotNull();
			assertThat(info.pools()).containsOnlyKeys("default")
				.containsEntry("default",
						new PoolInfo(new ThreadsInfo(2, 8), 2, 3,
								new PromotionInfo(PromotionPolicy.ADAPTIVE, PromotionOrder.LIFO, Duration.ofMillis(5)),
								16 * 1024 * 1024));
			int port = context.getBean(LeaderFollowersServers.class).get("default").port();
			assertThat(info.clients()).isEmpty();
			assertThat(info.servers()).containsOnlyKeys("default")
				.containsEntry("default", new ServerInfo(TransportType.TCP, port, "line", false, "default"));
		});
	}

	@Test
	void aServerThatIsNotBoundHasNoPort() {
		this.contextRunner.run((context) -> {
			LeaderFollowersPools pools = context.getBean(LeaderFollowersPools.class);
			TcpServer server = TcpServer.builder(pools.get("default"))
				.framing(Framing.line())
				.handler(new EchoHandler())
				.build();
			Info.Builder builder = new Info.Builder();
			new LeaderFollowersInfoContributor(pools, LeaderFollowersServers.builder().bean("own", server).build(),
					context.getBean(LeaderFollowersClients.class))
				.contribute(builder);
			assertThat(builder.build().get("lf", LeaderFollowersInfo.class).servers()).containsEntry("default",
					new ServerInfo(TransportType.TCP, null, "line", false, "default"));
		});
	}

	@Test
	void tellsClients() {
		this.contextRunner
			.withPropertyValues("management.info.lf.enabled=true", "lf.clients.ledger.addresses=127.0.0.1:1",
					"lf.clients.ledger.connections=3", "lf.clients.ledger.correlation.type=in-order")
			.run((context) -> {
				Info.Builder builder = new Info.Builder();
				context.getBean(LeaderFollowersInfoContributor.class).contribute(builder);
				LeaderFollowersInfo info = builder.build().get("lf", LeaderFollowersInfo.class);
				assertThat(info).isNotNull();
				assertThat(info.clients()).containsOnlyKeys("ledger");
				assertThat(info.clients().get("ledger"))
					.isEqualTo(new ClientInfo(List.of("127.0.0.1:1"), 3, "default"));
			});
	}

	@Test
	void sectionCanBeWrittenByANativeImage() {
		RuntimeHints hints = new RuntimeHints();
		new LeaderFollowersInfoContributorAutoConfiguration.InfoRuntimeHints().registerHints(hints, null);
		assertThat(RuntimeHintsPredicates.reflection().onMethodInvocation(ThreadsInfo.class, "max")).accepts(hints);
		assertThat(RuntimeHintsPredicates.reflection().onMethodInvocation(ServerInfo.class, "port")).accepts(hints);
	}

	@LfHandler
	static class Echo extends EchoHandler {

	}

}
