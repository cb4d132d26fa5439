package org.leaderfollowers.spring.test;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;

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

	@LfHandler
	static class Mistaken {

		@OnMessage
		private void take() {
		}

	}

}
