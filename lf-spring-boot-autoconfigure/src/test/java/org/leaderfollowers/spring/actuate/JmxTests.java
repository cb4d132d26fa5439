package org.leaderfollowers.spring.actuate;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

import javax.management.MBeanOperationInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.ReflectionException;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.spring.LineClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The endpoints over JMX.
 */
class JmxTests {

	private static final String[] EXPOSED = { "--spring.jmx.enabled=true",
			"--management.endpoints.jmx.exposure.include=leaderfollowers,lfhandoffs,lfconnections" };

	private final MBeanServer beans = ManagementFactory.getPlatformMBeanServer();

	@Test
	void operationsAreTheSame() throws Exception {
		try (OperatedApplication application = OperatedApplication.run(EXPOSED);
				LineClient client = new LineClient(application.port())) {
			assertThat(client.ask("hello")).isEqualTo("hello");
			assertThat((Map<?, ?>) invoke("Leaderfollowers", "leaderFollowers")).extracting(Map::keySet)
				.hasToString("[application, time, pools, servers]");
			assertThat(invoke("Leaderfollowers", "pool", "unknown")).isNull();
			invoke("Leaderfollowers", "changePool", "default", null, "9", "eager", "7ms");
			assertThat(application.pool().snapshot().maxThreads()).isEqualTo(9);
			assertThat(application.pool().snapshot().promotionPolicy()).isEqualTo(PromotionPolicy.EAGER);
			assertThat(application.pool().snapshot().promotionLease()).isEqualTo(Duration.ofMillis(7));
			invoke("Leaderfollowers", "changeServer", "default", "default", "pause", null, null, null, null, null, null,
					null);
			assertThat(application.server().isPaused()).isTrue();
			assertThat(invoke("Lfconnections", "connections", null, null, null, null, null)).asString()
				.contains("id=1")
				.doesNotContain("127.0.0.1");
			invoke("Leaderfollowers", "closeConnection", "default", "default", "1", null);
			assertThat(client.read()).isNull();
			assertThat(invoke("Lfhandoffs", "drainHandOffs", (Object) null)).isInstanceOf(Map.class);
			assertThat(application.events().audit()).extracting((event) -> event.getType())
				.containsExactly("LF_POOL_CHANGED", "LF_SERVER_PAUSED", "LF_CONNECTION_CLOSED", "LF_HAND_OFFS_DRAINED");
		}
	}

	@Test
	void connectionsAreChosenAndLogged() throws Exception {
		try (OperatedApplication application = OperatedApplication.run(EXPOSED[0], EXPOSED[1],
				"--management.endpoint.lfconnections.access=unrestricted", "--lf.logging.wire.payload=true");
				LineClient one = new LineClient(application.port());
				LineClient two = new LineClient(application.port())) {
			assertThat(one.ask("hello")).isEqualTo("hello");
			assertThat(two.ask("longer")).isEqualTo("longer");
			assertThat(invoke("Lfconnections", "connections", "default", "open", "-received", "0", "1")).asString()
				.contains("total=2", "id=2")
				.doesNotContain("id=1");
			assertThat(invoke("Lfconnections", "connections", "", "", "received", "0", "1")).asString()
				.contains("id=1")
				.doesNotContain("id=2");
			assertThat(invoke("Lfconnections", "connections", null, "closing", null, null, null)).asString()
				.contains("total=0");
			assertThat(invoke("Lfconnections", "changeWireLog", "on", "default", "2", "5m", "true")).asString()
				.contains("server=default", "connection=2", "payload=true");
			assertThat(invoke("Lfconnections", "changeWireLog", "off", "default", null, null, null)).asString()
				.contains("connection=2");
			assertThatExceptionOfType(ReflectionException.class)
				.isThrownBy(() -> invoke("Lfconnections", "connections", "x", null, null, null, null))
				.withMessageStartingWith("There is no such server");
		}
	}

	@Test
	void argumentsReachTheServer() throws Exception {
		try (OperatedApplication application = OperatedApplication.run(EXPOSED[0], EXPOSED[1],
				"--lf.server.per-client.max-connections=100");
				LineClient first = new LineClient(application.port());
				LineClient second = new LineClient(application.port());
				LineClient third = new LineClient(application.port())) {
			for (LineClient client : List.of(first, second, third)) {
				assertThat(client.ask("hello")).isEqualTo("hello");
			}
			assertThat(invoke("Leaderfollowers", "changeServer", "default", "default", "limit", null, null, "7", "8",
					"9", "1000", "11", "close"))
				.asString()
				.contains("max-connections=7", "connections-per-second=8", "messages-per-second=9",
						"bytes-per-second=1000", "failed-logins-per-minute=11", "action=CLOSE");
			invoke("Leaderfollowers", "closeConnection", "default", "default", "1", "7s");
			invoke("Leaderfollowers", "changeServer", "default", "default", "evacuate", null, "1/h", null, null, null,
					null, null, null);
			invoke("Leaderfollowers", "changeServer", "default", "default", "drain", "9s", null, null, null, null, null,
					null, null);
			assertThat(application.events().audit()).extracting((event) -> event.getData().get("timeout"))
				.containsExactly(null, "PT7S", null, "PT9S");
			assertThat(application.events().audit().get(2).getData()).extracting("after")
				.isEqualTo(Map.of("state", "DRAINING", "rate", "1/h"));
		}
	}

	@Test
	void refusalsTellTheReason() throws Exception {
		try (OperatedApplication application = OperatedApplication.run(EXPOSED)) {
			assertThatExceptionOfType(ReflectionException.class)
				.isThrownBy(() -> invoke("Leaderfollowers", "changePool", "default", null, "many", null, null))
				.withMessage("'maxThreads' must be a whole number, but is 'many'");
			assertThatExceptionOfType(ReflectionException.class)
				.isThrownBy(() -> invoke("Leaderfollowers", "changeServer", "default", "x", "pause", null, null, null,
						null, null, null, null))
				.withMessage("There is no such server of this pool, only: default");
			assertThat(application.events().audit()).isEmpty();
		}
	}

	@Test
	void readOnlyMeansThatThereAreNoWrites() throws Exception {
		try (OperatedApplication application = OperatedApplication.run(EXPOSED[0], EXPOSED[1],
				"--management.endpoint.leaderfollowers.access=read-only",
				"--management.endpoint.lfhandoffs.access=read-only")) {
			assertThat(operations("Leaderfollowers")).containsExactlyInAnyOrder("leaderFollowers", "pool", "server");
			assertThat(operations("Lfhandoffs")).containsExactly("handOffs");
			assertThat(operations("Lfconnections")).containsExactly("connections");
			assertThat(application.events().audit()).isEmpty();
		}
	}

	@Test
	void addressesAreNotShownToThoseWhoDoNotSayWhoTheyAre() throws Exception {
		for (String show : List.of("when-authorized", "always")) {
			try (OperatedApplication application = OperatedApplication.run(EXPOSED[0], EXPOSED[1],
					"--management.endpoint.lfconnections.show-remote-addresses=" + show);
					LineClient client = new LineClient(application.port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				String shown = String.valueOf(invoke("Lfconnections", "connections", null, null, null, null, null));
				assertThat(shown.contains("127.0.0.1")).isEqualTo(show.equals("always"));
			}
		}
	}

	private List<String> operations(String endpoint) throws Exception {
		return Arrays.stream(this.beans.getMBeanInfo(name(endpoint)).getOperations())
			.map(MBeanOperationInfo::getName)
			.toList();
	}

	private @Nullable Object invoke(String endpoint, String operation, @Nullable Object... arguments) throws Exception {
		String[] signature = new String[arguments.length];
		Arrays.fill(signature, String.class.getName());
		return this.beans.invoke(name(endpoint), operation, arguments, signature);
	}

	private static ObjectName name(String endpoint) throws Exception {
		return new ObjectName("org.springframework.boot:type=Endpoint,name=" + endpoint);
	}

}
