package org.leaderfollowers.sample;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;

/**
 * Makes the front end use the back ends of its own application: both get the same free
 * ports.
 */
class FreePorts implements EnvironmentPostProcessor {

	/** Below the range that systems use for the ports of clients. */
	private static final int MIN = 20_000;

	private static final int MAX = 32_000;

	@Override
	public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
		List<Integer> ports = find(2);
		environment.getPropertySources()
			.addLast(
					new MapPropertySource("freePorts", Map.of("test.port1", ports.get(0), "test.port2", ports.get(1))));
	}

	/** Finds different ports: a port that was found before may still be free. */
	static List<Integer> find(int count) {
		return Stream.generate(FreePorts::find).distinct().limit(count).toList();
	}

	static int find() {
		for (;;) {
			int port = ThreadLocalRandom.current().nextInt(MIN, MAX);
			try (ServerSocket socket = new ServerSocket(port)) {
				return socket.getLocalPort();
			}
			catch (IOException ex) {
				// The port is in use: try the next one.
			}
		}
	}

}
