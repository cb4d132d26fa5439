package org.leaderfollowers.docs;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.ConfigDataApplicationContextInitializer;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;

import static org.leaderfollowers.spring.test.assertion.LfAssertions.assertThat;

/** Tests the properties for JT/T 808 in the guide. */
class EnclosedFramingTests {

	@Test
	void bytesOfTheProtocolAreEscaped() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withInitializer(new ConfigDataApplicationContextInitializer())
			.withUserConfiguration(Trackers.class)
			.withPropertyValues("spring.config.location=classpath:framing-enclosed.yaml", "lf.servers.trackers.port=0")
			.run((context) -> {
				TcpServer server = (TcpServer) context.getBean(LeaderFollowersServers.class).get("trackers");
				assertThat(server.framing())
					.writes("0~\u0008}U", (byte) 0x7E, (byte) 0x30, (byte) 0x7D, (byte) 0x02, (byte) 0x08, (byte) 0x7D,
							(byte) 0x01, (byte) 0x55, (byte) 0x7E)
					.roundTrips("a", "~}~", "b");
			});
	}

	/** Not annotated as a configuration: other tests would find it. */
	static class Trackers {

		@Bean
		@LfHandler(server = "trackers")
		MessageHandler echo() {
			return (connection, message) -> connection.send(message);
		}

	}

}
