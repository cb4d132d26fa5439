package org.leaderfollowers.sample;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;

/**
 * Has the front end find the back ends of its own application: the ports are the same for
 * both, and are free.
 */
class FreePorts implements EnvironmentPostProcessor {

	/** Below the range that systems take ports of clients from. */
	private static final int MIN = 20_000;

	private static final int MAX = 32_000;

	@Override
	public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
		int first = find();
		int second = find();
		while (second == first) {
			second = find();
		}
		environment.getPropertySources()
			.addLast(new MapPropertySource("freePorts", Map.of("test.port1", first, "test.port2", second)));
	}

	static int find() {
		for (;;) {
			int port = ThreadLocalRandom.current().nextInt(MIN, MAX);
			try (ServerSocket socket = new ServerSocket(port)) {
				return socket.getLocalPort();
			}
			catch (IOException ex) {
				// In use: the next one may be free.
			}
		}
	}

}
