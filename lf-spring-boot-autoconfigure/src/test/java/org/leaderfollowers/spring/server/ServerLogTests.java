package org.leaderfollowers.spring.server;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ServerLog}.
 */
@ExtendWith(OutputCaptureExtension.class)
class ServerLogTests {

	private static final String HOSTILE = "default\nPool 'x' has no threads\u2028\u202e";

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
		.withUserConfiguration(Handlers.class)
		.withPropertyValues("lf.server.port=0", "lf.server.address=127.0.0.1", "lf.servers.telemetry.port=0",
				"lf.servers.telemetry.transport=udp", "lf.servers.telemetry.pool=quick", "lf.servers.audit.port=0",
				"lf.pools.quick.threads.min=3", "lf.pools.quick.threads.max=3", "lf.pools.quick.handle-sets=2",
				"lf.pools.quick.parallelism=1", "lf.pool.parallelism=6", "lf.pools.quick.promotion.policy=eager",
				"lf.pools.quick.promotion.order=fifo", "lf.pools.quick.promotion.lease=100us",
				"lf.pools.quick.max-buffered-size=64KB", "lf.pool.max-buffered-size=32MB");

	@Test
	void eachServerAndEachPoolHasOneLine(CapturedOutput output) {
		this.contextRunner.run((context) -> {
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			servers.pause("audit");
			servers.resume("audit");
			assertThat(lines(output)).containsExactlyInAnyOrder(
					"Server 'default' started on port %d of 127.0.0.1 (framing 'line', handler 'echo', pool 'default')"
						.formatted(servers.get("default").port()),
					"Pool 'default' has 4 to 64 threads and 1 to 4 handle sets, parallelism 6, promotion adaptive lifo, lease 2ms, and "
							+ "buffers of 32MB at most",
					"Server 'telemetry' started on UDP port %d of all addresses (handler 'telemetry', pool 'quick')"
						.formatted(servers.get("telemetry").port()),
					"Pool 'quick' has 3 threads and 2 handle sets, parallelism 1, promotion eager fifo, lease 100us, and buffers of "
							+ "64KB at most",
					"Server 'audit' started on port %d of all addresses (framing 'line', handler 'audit', "
						.formatted(servers.get("audit").port()) + "pool 'default')",
					"Server 'audit' is paused: it accepts nothing new", "Server 'audit' is resumed");
		});
		assertThat(lines(output)).contains("Server 'default' is stopped", "Server 'telemetry' is stopped",
				"Server 'audit' is stopped");
	}

	@Test
	void poolThatServesAgainIsNotAnnouncedAgain(CapturedOutput output) {
		this.contextRunner.run((context) -> {
			context.getSourceApplicationContext().stop();
			context.getSourceApplicationContext().start();
		});
		assertThat(lines(output)).filteredOn((line) -> line.startsWith("Server 'audit' started")).hasSize(2);
		assertThat(lines(output)).filteredOn((line) -> line.startsWith("Pool 'default' has")).hasSize(1);
	}

	@Test
	void namesCannotForgeLines(CapturedOutput output) {
		this.contextRunner.withUserConfiguration(HostileHandler.class)
			.withPropertyValues("lf.servers[" + HOSTILE + "].port=0", "lf.servers[" + HOSTILE + "].pool=" + HOSTILE,
					"lf.pools[" + HOSTILE + "].threads.max=4")
			.run((context) -> {
				LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
				servers.pause(HOSTILE);
				servers.resume(HOSTILE);
			});
		assertThat(lines(output)).noneMatch((line) -> line.startsWith("Pool 'x'"))
			.anyMatch((line) -> line.startsWith("Server 'default?Pool 'x' has no threads??' started on port"))
			.anyMatch((line) -> line.startsWith("Pool 'default?Pool 'x' has no threads??' has 4 threads"))
			.contains("Server 'default?Pool 'x' has no threads??' is paused: it accepts nothing new",
					"Server 'default?Pool 'x' has no threads??' is resumed",
					"Server 'default?Pool 'x' has no threads??' is stopped");
	}

	/** Returns the messages that this class logs, without the prefix of the layout. */
	private static String[] lines(CapturedOutput output) {
		return output.toString()
			.lines()
			.filter((line) -> line.contains("Server '") || line.contains("Pool '"))
			.map((line) -> line.replaceFirst("^.*? (?:--? |: )(?=(Server|Pool) ')", ""))
			.toArray(String[]::new);
	}

	@Configuration(proxyBeanMethods = false)
	static class Handlers {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return new EchoHandler();
		}

		@Bean
		@LfHandler("telemetry")
		MessageHandler telemetry() {
			return new EchoHandler();
		}

		@Bean
		@LfHandler("audit")
		MessageHandler audit() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class HostileHandler {

		@Bean
		@LfHandler(HOSTILE)
		MessageHandler hostile() {
			return new EchoHandler();
		}

	}

}
