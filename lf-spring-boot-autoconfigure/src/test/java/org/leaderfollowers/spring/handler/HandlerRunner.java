package org.leaderfollowers.spring.handler;

import java.io.IOException;

import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.validation.autoconfigure.ValidationAutoConfiguration;

/**
 * Runs a handler as an application would, and talks to it.
 */
final class HandlerRunner {

	private HandlerRunner() {
	}

	static ApplicationContextRunner of(Class<?>... components) {
		return new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(JacksonAutoConfiguration.class, ValidationAutoConfiguration.class,
					LeaderFollowersAutoConfiguration.class))
			.withUserConfiguration(components)
			.withPropertyValues("lf.server.port=0");
	}

	static void talk(ApplicationContextRunner runner, Conversation conversation) {
		runner.run((context) -> {
			try (LineClient client = connect(context)) {
				conversation.talk(client, context);
			}
		});
	}

	static LineClient connect(AssertableApplicationContext context) throws IOException {
		return new LineClient(context.getBean(LeaderFollowersServers.class).get("default").port());
	}

	/**
	 * What a client says and expects.
	 */
	@FunctionalInterface
	interface Conversation {

		void talk(LineClient client, AssertableApplicationContext context) throws Exception;

	}

}
