package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.Arrays;

import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionContestedException;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/**
 * A node in a process of its own. Devices connect to one server, and the test commands it
 * by another one. Prints the ports of both when it serves.
 */
final class NodeProcess {

	private NodeProcess() {
	}

	public static void main(String[] properties) {
		ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
			.web(WebApplicationType.NONE)
			.properties("lf.server.port=0", "lf.server.correlation.type=in-order", "lf.servers.control.port=0",
					"lf.cluster.lease=5s", "lf.cluster.verify-interval=5s", "lf.sessions.max-takeovers=1000",
					"spring.main.banner-mode=off")
			.properties(properties)
			.run();
		LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
		System.out.printf("PORTS %d %d%n", servers.get("default").port(), servers.get("control").port());
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import({ Devices.class, Control.class })
	static class Application {

	}

	@LfHandler
	static class Devices {

		private final LfSessions sessions;

		Devices(LfSessions sessions) {
			this.sessions = sessions;
		}

		@OnMessage(prefix = "HELLO ")
		String hello(String name, Connection connection) {
			try {
				this.sessions.bind(connection, name);
				return "WELCOME";
			}
			catch (SessionContestedException ex) {
				return "LATER";
			}
		}

	}

	@LfHandler(server = "control")
	static class Control {

		private final LfSessions sessions;

		Control(LfSessions sessions) {
			this.sessions = sessions;
		}

		/** The name, the timeout in milliseconds and the request. */
		@OnMessage(prefix = "EXCHANGE ")
		String exchange(String arguments) {
			String[] parts = arguments.split(" ", 3);
			try {
				return "DONE " + this.sessions.exchange(parts[0], parts[2], String.class,
						Duration.ofMillis(Long.parseLong(parts[1])));
			}
			catch (ExchangeRejectedException ex) {
				return "REJECTED " + ex.getMessage();
			}
			catch (ExchangeException ex) {
				return "UNKNOWN " + ex.getMessage();
			}
		}

		/**
		 * The name, and how many exchanges to measure. Returns the median in
		 * microseconds.
		 */
		@OnMessage(prefix = "MEASURE ")
		String measure(String arguments) {
			String[] parts = arguments.split(" ");
			long[] nanos = new long[Integer.parseInt(parts[1])];
			for (int i = 0; i < nanos.length; i++) {
				long begun = System.nanoTime();
				this.sessions.exchange(parts[0], "m" + i, String.class, Duration.ofSeconds(5));
				nanos[i] = System.nanoTime() - begun;
			}
			Arrays.sort(nanos);
			return "MEDIAN " + nanos[nanos.length / 2] / 1_000;
		}

		@OnMessage(prefix = "STATE")
		String state() {
			return "STATE %d %d %s".formatted(this.sessions.counters().open(), this.sessions.directory().nodes().size(),
					this.sessions.directory().problem());
		}

	}

}
