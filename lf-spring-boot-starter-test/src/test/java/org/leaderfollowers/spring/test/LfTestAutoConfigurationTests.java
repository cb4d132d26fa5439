package org.leaderfollowers.spring.test;

import java.nio.ByteBuffer;
import java.security.NoSuchAlgorithmException;

import javax.net.ssl.SSLContext;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Framing;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.SlowConsumerException;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.test.client.InMemoryTestClient;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link LfTestAutoConfiguration}.
 */
class LfTestAutoConfigurationTests {

	@Test
	void mistakesAreFoundWithoutTheLifecycleOfTheServers() {
		new ApplicationContextRunner()
			.withConfiguration(
					AutoConfigurations.of(LeaderFollowersAutoConfiguration.class, LfTestAutoConfiguration.class))
			.withBean("leaderFollowersServerStartStopLifecycle", Object.class, Object::new)
			.withUserConfiguration(Mistaken.class)
			.run((context) -> assertThat(context).getFailure().hasMessageContaining("take() is private"));
	}

	@Test
	void clientsUseTlsIfTheirServerDoes() {
		new ApplicationContextRunner()
			.withConfiguration(
					AutoConfigurations.of(LeaderFollowersAutoConfiguration.class, LfTestAutoConfiguration.class))
			.withUserConfiguration(Servers.class)
			.withPropertyValues("lf.server.port=0", "lf.server.ssl.bundle=web", "lf.server.ssl.enabled=false")
			.run((context) -> {
				LfTestClients clients = context.getBean(LfTestClients.class);
				assertThat(clients.tcp("secure")).extracting("sslContext").isNotNull();
				try (TcpTestClient client = clients.connect()) {
					client.send("in the clear");
					assertThat(client.receive()).isEqualTo("in the clear");
				}
			});
	}

	/** Only Linux has all addresses of the loopback network from the start. */
	@Test
	@EnabledOnOs(OS.LINUX)
	void clientsConnectToTheAddressOfTheirServer() {
		new ApplicationContextRunner()
			.withConfiguration(
					AutoConfigurations.of(LeaderFollowersAutoConfiguration.class, LfTestAutoConfiguration.class))
			.withUserConfiguration(Servers.class)
			.withPropertyValues("lf.server.port=0", "lf.server.address=127.0.0.2")
			.run((context) -> {
				try (TcpTestClient client = context.getBean(LfTestClients.class).connect()) {
					client.send("here");
					assertThat(client.receive()).isEqualTo("here");
				}
			});
	}

	@Test
	void connectionsInMemoryHaveTheSizesOfTheirServer() {
		new ApplicationContextRunner()
			.withConfiguration(
					AutoConfigurations.of(LeaderFollowersAutoConfiguration.class, LfTestAutoConfiguration.class))
			.withUserConfiguration(Servers.class)
			.withPropertyValues("lf.server.port=0", "lf.server.max-message-size=100B",
					"lf.server.max-outbound-size=2KB")
			.run((context) -> {
				InMemoryTestClient client = context.getBean(LfTestClients.class).openInMemory();
				client.send("x".repeat(100));
				assertThat(client).receives("x".repeat(100));
				client.stopReading();
				while (client.connection().pendingBytes() < 2048) {
					client.connection().send(ByteBuffer.allocate(100));
				}
				assertThatExceptionOfType(SlowConsumerException.class)
					.isThrownBy(() -> client.connection().send(ByteBuffer.allocate(100)));
				client.startReading();
				client.send("x".repeat(101));
				assertThat(client.closeReason()).isEqualTo(CloseReason.MESSAGE_TOO_LARGE);
			});
	}

	@Configuration(proxyBeanMethods = false)
	static class Servers {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return (connection, message) -> connection.send(message);
		}

		@Bean
		TcpServer secure(LeaderFollowersPools pools) throws NoSuchAlgorithmException {
			return TcpServer.builder(pools.get("default"))
				.name("secure")
				.port(0)
				.framing(Framing.line())
				.tls(ServerTls.of(SSLContext.getDefault()))
				.handler(echo())
				.build();
		}

	}

	@LfHandler
	static class Mistaken {

		@OnMessage
		private void take() {
		}

	}

}
