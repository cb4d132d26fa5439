package org.leaderfollowers.benchmarks.servers;

import java.util.HashMap;
import java.util.Map;

import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersMetricsAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersObservationAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;

/**
 * Our engine, as Spring Boot sets it up.
 */
final class SpringBootServer implements EchoServer {

	private static final int MIN_THREADS = 4;

	private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

	private SpringBootServer(Class<?> configuration, ServerOptions options, Runnable work) {
		Map<String, Object> properties = new HashMap<>();
		properties.put("lf.server.address", Loopback.address().getHostAddress());
		properties.put("lf.server.port", 0);
		properties.put("lf.server.backlog", Loopback.BACKLOG);
		properties.put("lf.server.max-connections", 100_000);
		properties.put("lf.server.max-message-size", options.maxMessage() + "B");
		if (options.threads() != ServerOptions.DEFAULT_THREADS || options.loops() > 0) {
			int minThreads = Math.max(Math.min(MIN_THREADS, options.threads()), options.loops());
			properties.put("lf.pool.threads.min", minThreads);
			properties.put("lf.pool.threads.max", Math.max(minThreads, options.threads()));
		}
		if (options.loops() > 0) {
			properties.put("lf.pool.handle-sets", options.loops());
		}
		this.context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("benchmark", properties));
		this.context.registerBean("work", Runnable.class, () -> work);
		this.context.register(configuration);
		this.context.refresh();
	}

	static SpringBootServer withMethod(ServerOptions options, Runnable work) {
		return new SpringBootServer(Methods.class, options, work);
	}

	static SpringBootServer withoutMeters(ServerOptions options, Runnable work) {
		return new SpringBootServer(NoMeters.class, options, work);
	}

	static SpringBootServer withMeters(ServerOptions options, Runnable work) {
		return new SpringBootServer(Meters.class, options, work);
	}

	@Override
	public int port() {
		return this.context.getBean(LeaderFollowersServers.class).get("default").port();
	}

	@Override
	public void close() {
		this.context.close();
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration(LeaderFollowersAutoConfiguration.class)
	static class Methods {

		@Bean
		Echo echo(Runnable work) {
			return new Echo(work);
		}

	}

	@LfHandler
	static class Echo {

		private final Runnable work;

		Echo(Runnable work) {
			this.work = work;
		}

		@OnMessage
		String echo(String text) {
			this.work.run();
			return text;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ LeaderFollowersAutoConfiguration.class, LeaderFollowersMetricsAutoConfiguration.class,
			LeaderFollowersObservationAutoConfiguration.class, MetricsAutoConfiguration.class,
			CompositeMeterRegistryAutoConfiguration.class, SimpleMetricsExportAutoConfiguration.class,
			ObservationAutoConfiguration.class })
	static class Meters extends Handler {

	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration(LeaderFollowersAutoConfiguration.class)
	static class NoMeters extends Handler {

	}

	static class Handler {

		@Bean
		@LfHandler
		MessageHandler echo(Runnable work) {
			return (connection, message) -> {
				work.run();
				connection.send(message);
			};
		}

	}

}
