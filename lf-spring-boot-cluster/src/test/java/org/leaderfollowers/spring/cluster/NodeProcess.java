package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Collectors;

import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionContestedException;
import org.leaderfollowers.spring.session.SessionEntry;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.hazelcast.autoconfigure.HazelcastConfigCustomizer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/**
 * A node in a process of its own. Devices connect to two servers, for lines and for
 * Modbus, and the test commands it by another one. Prints the ports of all when it
 * serves.
 */
final class NodeProcess {

	private NodeProcess() {
	}

	public static void main(String[] properties) {
		ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
			.web(WebApplicationType.NONE)
			.properties("lf.server.port=0", "lf.server.correlation.type=in-order", "lf.servers.control.port=0",
					// Many logins at once occupy all threads of the other pool.
					"lf.servers.control.pool=control", "lf.pools.control.threads.max=64", "lf.servers.modbus.port=0",
					"lf.servers.modbus.framing.type=modbus-tcp", "lf.servers.modbus.correlation.type=stamped",
					"lf.servers.modbus.correlation.length=2", "lf.cluster.lease=5s", "lf.cluster.verify-interval=5s",
					"lf.sessions.max-takeovers=1000", "spring.main.banner-mode=off")
			.properties(properties)
			.run();
		LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
		System.out.printf("PORTS %d %d %d%n", servers.get("default").port(), servers.get("control").port(),
				servers.get("modbus").port());
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import({ Devices.class, Slaves.class, Control.class })
	static class Application {

		/**
		 * Other nodes reach this one by a link, and tell its connections by their ports.
		 */
		@Bean
		@ConditionalOnProperty("test.public-port")
		HazelcastConfigCustomizer links(@Value("${test.public-port}") int publicPort,
				@Value("${test.outbound-ports}") String outboundPorts) {
			return (config) -> config.getNetworkConfig()
				.setPublicAddress("127.0.0.1:" + publicPort)
				.addOutboundPortDefinition(outboundPorts);
		}

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

	@LfHandler(server = "modbus")
	static class Slaves {

		private final LfSessions sessions;

		Slaves(LfSessions sessions) {
			this.sessions = sessions;
		}

		/** A slave says who it is. It gets the same message back when it is known. */
		@OnMessage
		byte[] hello(byte[] message, Connection connection) {
			this.sessions.bind(connection, TestDevice.Modbus.name(message));
			return message;
		}

		@OnError
		void contested(SessionContestedException ex, Connection connection) {
			connection.close();
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
				Duration timeout = Duration.ofMillis(Long.parseLong(parts[1]));
				if (parts[0].startsWith("modbus")) {
					byte[] request = TestDevice.Modbus.command(parts[2]);
					byte[] reply = this.sessions.exchange(parts[0], request, byte[].class, timeout);
					return "DONE " + (Arrays.equals(reply, request) ? parts[2] : Arrays.toString(reply));
				}
				return "DONE " + this.sessions.exchange(parts[0], parts[2], String.class, timeout);
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
				try {
					this.sessions.exchange(parts[0], "m" + i, String.class, Duration.ofSeconds(5));
				}
				catch (ExchangeException ex) {
					return "FAILED %d %s".formatted(i, ex);
				}
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

		@OnMessage(prefix = "HELD")
		String held() {
			return this.sessions.held().stream().map(SessionEntry::name).collect(Collectors.joining(" ", "HELD ", ""));
		}

	}

}
