package org.leaderfollowers.spring.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionBroadcast;
import org.leaderfollowers.spring.session.SessionContestedException;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.eventually;

/**
 * Sessions of three applications with real connections, for each engine.
 */
@Timeout(300)
abstract class AbstractSessionClusterTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	private final List<Node> nodes = new ArrayList<>();

	private final List<Device> devices = new CopyOnWriteArrayList<>();

	/**
	 * Returns the properties of a node, from 0, that choose the engine and connect it.
	 */
	abstract Map<String, Object> properties(int index);

	@BeforeEach
	void startNodes() {
		for (int i = 0; i < 3; i++) {
			this.nodes.add(new Node(i));
		}
		eventually().until(() -> this.nodes.stream().allMatch((node) -> node.others() == 2));
	}

	@AfterEach
	void stopNodes() {
		this.devices.forEach(Device::close);
		this.nodes.forEach(Node::close);
	}

	private Node node(int index) {
		return this.nodes.get(index);
	}

	@Test
	void anyNodeReachesTheDevicesOfAll() {
		for (int i = 0; i < 3; i++) {
			node(i).login("device" + i);
		}
		for (Node node : this.nodes) {
			for (int i = 0; i < 3; i++) {
				String name = "device" + i;
				assertThat(node.sessions.isPresent(name)).isTrue();
				assertThat(node.sessions.get(name).orElseThrow().node()).isEqualTo(node(i).id());
				assertThat(node.sessions.exchange(name, "{\"to\":1}", String.class, TIMEOUT)).isEqualTo("{\"echo\":1}");
				assertThat(node.sessions.send(name, "event")).isEqualTo(Delivery.SENT);
			}
			assertThat(node.sessions.isPresent("nobody")).isFalse();
			assertThat(node.sessions.send("nobody", "x")).isEqualTo(Delivery.GONE);
			assertThatExceptionOfType(ExchangeRejectedException.class)
				.isThrownBy(() -> node.sessions.exchange("nobody", "x", String.class, TIMEOUT))
				.withMessageContaining("No client has logged in as 'nobody'");
		}
		eventually().untilAsserted(() -> assertThat(this.devices).allSatisfy((device) -> {
			assertThat(device.received).filteredOn("event"::equals).hasSize(3);
			assertThat(device.received).filteredOn((line) -> line.startsWith("{")).hasSize(3);
		}));
	}

	@Test
	void theNewestLoginWinsOnAnyNode() {
		Device first = node(0).login("4711");
		long epoch = node(2).sessions.get("4711").orElseThrow().epoch();
		assertThat(node(2).sessions.send("4711", "one")).as("remembered by node 2").isEqualTo(Delivery.SENT);
		Device second = node(1).login("4711");
		eventually().until(() -> first.isClosed());
		assertThat(node(0).sessions.counters().takenOverSessions()).isEqualTo(1);
		assertThat(node(2).sessions.send("4711", "two")).as("found again").isEqualTo(Delivery.SENT);
		assertThat(node(2).sessions.get("4711").orElseThrow().epoch()).isGreaterThan(epoch);
		Device third = node(0).login("4711");
		eventually().until(() -> second.isClosed());
		for (Node node : this.nodes) {
			eventually().until(() -> node.sessions.send("4711", "three") == Delivery.SENT);
		}
		eventually().untilAsserted(() -> assertThat(third.received).contains("three"));
		assertThat(first.received).containsExactly("WELCOME 4711", "one");
		assertThat(second.received).containsExactly("WELCOME 4711", "two");
		third.close();
		for (Node node : this.nodes) {
			eventually().until(() -> !node.sessions.isPresent("4711"));
		}
	}

	@Test
	void devicesOfOneNameOnSeveralNodesDoNotThrowEachOtherOutForEver() {
		for (int i = 0; i < 6; i++) {
			node(i % 3).login("4711");
		}
		Device refused = node(0).connect();
		refused.send("HELLO 4711");
		eventually().untilAsserted(() -> assertThat(refused.received).hasSize(1)
			.first()
			.asString()
			.startsWith("REFUSED Session '4711' was taken over 5 times"));
		assertThat(node(1).sessions.get("4711").orElseThrow().node()).isEqualTo(node(2).id());
	}

	@Test
	void aBroadcastReachesTheGroupsOfAllNodes() {
		List<Device> members = new ArrayList<>();
		for (Node node : this.nodes) {
			for (String name : List.of("red", "blue")) {
				Device device = node.login(name + "-" + node.index);
				node.sessions.join(node.sessions.connection(name + "-" + node.index).orElseThrow(), name);
				members.add(device);
			}
		}
		assertThat(node(1).sessions.broadcast("red", "to red")).isEqualTo(new SessionBroadcast(3, 0, 0, 0));
		assertThat(node(2).sessions.broadcast("to all")).isEqualTo(new SessionBroadcast(6, 0, 0, 0));
		eventually().untilAsserted(
				() -> assertThat(members).allSatisfy((device) -> assertThat(device.received).endsWith("to all")));
		assertThat(members.stream().filter((device) -> device.received.contains("to red"))).hasSize(3);
	}

	@Test
	void aNodeThatStopsTakesItsSessionsWithIt() {
		node(0).login("4711");
		assertThat(node(1).sessions.send("4711", "x")).isEqualTo(Delivery.SENT);
		node(0).close();
		eventually().until(() -> node(1).others() == 1);
		assertThat(node(1).sessions.isPresent("4711")).isFalse();
		assertThat(node(2).sessions.send("4711", "x")).isEqualTo(Delivery.GONE);
		Device again = node(2).login("4711");
		assertThat(node(1).sessions.send("4711", "back")).isEqualTo(Delivery.SENT);
		eventually().untilAsserted(() -> assertThat(again.received).contains("back"));
		assertThat(node(1).sessions.get("4711").orElseThrow().takeovers()).as("its node had gone").isZero();
	}

	/**
	 * The only thread of each node waits for the other node, and has to read the reply
	 * that the other one waits for.
	 */
	@Test
	void handlersOfTwoNodesExchangeMessagesWithDevicesOfEachOther() {
		Device north = node(0).login("north");
		Device south = node(1).login("south");
		Device asksSouth = node(0).login("asks south");
		Device asksNorth = node(1).login("asks north");
		for (int round = 1; round <= 10; round++) {
			String request = "{\"to\":%d}".formatted(round);
			String answer = "GOT {\"echo\":%d}".formatted(round);
			north.holds = true;
			south.holds = true;
			asksSouth.send("ASK south " + request);
			asksNorth.send("ASK north " + request);
			eventually().until(() -> north.received.contains(request) && south.received.contains(request));
			north.proceed();
			south.proceed();
			eventually().until(() -> asksSouth.received.contains(answer) && asksNorth.received.contains(answer));
		}
	}

	/** An application. */
	final class Node {

		final int index;

		private final ConfigurableApplicationContext context;

		final LfSessions sessions;

		Node(int index) {
			this.index = index;
			this.context = new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
				.properties(Map.of("lf.server.port", 0, "lf.server.correlation.type", "in-order",
						"lf.cluster.node-name", "node" + index, "lf.cluster.lease", "10s", "spring.main.banner-mode",
						"off", "spring.jmx.enabled", "false", "spring.main.register-shutdown-hook", "false",
						"lf.pool.threads.min", "1", "lf.pool.threads.max", "1"))
				.properties(properties(index))
				.run();
			this.sessions = this.context.getBean(LfSessions.class);
		}

		String id() {
			return this.sessions.directory().node();
		}

		int others() {
			return this.sessions.directory().nodes().size() - 1;
		}

		Device connect() {
			Device device = new Device(this.context.getBean(LeaderFollowersServers.class).get("default").port());
			AbstractSessionClusterTests.this.devices.add(device);
			return device;
		}

		Device login(String name) {
			Device device = connect();
			device.send("HELLO " + name);
			eventually().until(() -> device.received.contains("WELCOME " + name));
			return device;
		}

		void close() {
			this.context.close();
		}

	}

	/** A device that answers each JSON object with one. */
	static final class Device {

		final List<String> received = new CopyOnWriteArrayList<>();

		private final Socket socket;

		/** Whether the next answer waits until it {@link #proceed proceeds}. */
		volatile boolean holds;

		private volatile String held;

		private volatile boolean closed;

		Device(int port) {
			try {
				this.socket = new Socket(InetAddress.getLoopbackAddress(), port);
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
			Thread thread = new Thread(this::run, "device");
			thread.setDaemon(true);
			thread.start();
		}

		private void run() {
			try (BufferedReader reader = new BufferedReader(
					new InputStreamReader(this.socket.getInputStream(), StandardCharsets.UTF_8))) {
				for (String line = reader.readLine(); line != null; line = reader.readLine()) {
					this.received.add(line);
					if (line.startsWith("{")) {
						answer(line.replace("\"to\"", "\"echo\""));
					}
				}
			}
			catch (IOException | UncheckedIOException ex) {
				// The connection has ended.
			}
			finally {
				this.closed = true;
			}
		}

		private synchronized void answer(String line) {
			if (this.holds) {
				this.held = line;
			}
			else {
				send(line);
			}
		}

		/** Sends the answer that it has held back. */
		synchronized void proceed() {
			this.holds = false;
			if (this.held != null) {
				send(this.held);
			}
			this.held = null;
		}

		void send(String line) {
			try {
				this.socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		boolean isClosed() {
			return this.closed;
		}

		void close() {
			try {
				this.socket.close();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(Devices.class)
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
				return "WELCOME " + name;
			}
			catch (SessionContestedException ex) {
				return "REFUSED " + ex.getMessage();
			}
		}

		/** The name and the request. */
		@OnMessage(prefix = "ASK ")
		String ask(String arguments) {
			String[] parts = arguments.split(" ", 2);
			return "GOT " + this.sessions.exchange(parts[0], parts[1], String.class, TIMEOUT);
		}

	}

}
