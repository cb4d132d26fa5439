package org.leaderfollowers.spring.autoconfigure;

import java.util.stream.Stream;

import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Runs a whole {@link SpringApplication} that fails to start, so that its failure is
 * analyzed and reported.
 */
public final class FailingApplication {

	private FailingApplication() {
	}

	public static void run(Class<?> configuration, String... properties) {
		SpringApplicationBuilder builder = new SpringApplicationBuilder(Autoconfigured.class, configuration)
			.web(WebApplicationType.NONE)
			.bannerMode(Banner.Mode.OFF);
		assertThatExceptionOfType(Exception.class).isThrownBy(
				() -> builder.run(Stream.of(properties).map((property) -> "--" + property).toArray(String[]::new)));
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration(LeaderFollowersAutoConfiguration.class)
	static class Autoconfigured {

	}

}
