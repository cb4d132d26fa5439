package org.leaderfollowers.spring.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

import static org.assertj.core.api.Assertions.assertThat;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.eventually;

/**
 * Three processes with some hundred devices, of which one process stands still for a
 * while and another one is killed. Every command is executed at most once, and answered
 * or failed in time. Afterwards each device is reached from each node.
 */
@Tag("stress")
@Timeout(600)
@EnabledOnOs(OS.LINUX)
class ClusterProcessTests {

	private static final int DEVICES = 300;

	private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(2);

	/** Longer than the lease, so that the others notice. */
	private static final Duration PAUSE = Duration.ofSeconds(12);

	private final List<Node> nodes = new CopyOnWriteArrayList<>();

	private final List<Device> devices = new ArrayList<>();

	/** How often each command was executed. */
	private final Map<String, Integer> executed = new ConcurrentHashMap<>();

	/** The outcome of each command, as far as the node that was asked has told. */
	private final Map<String, String> outcomes = new ConcurrentHashMap<>();

	private final AtomicLong longestNanos = new AtomicLong();

	private final AtomicInteger commands = new AtomicInteger();

	private volatile boolean commanding = true;

	private volatile boolean ended;

	@AfterEach
	void stop() {
		this.commanding = false;
		this.ended = true;
		this.devices.forEach(Device::close);
		this.nodes.forEach((node) -> node.process.destroyForcibly());
	}

	@Test
	void onHazelcast() throws Exception {
		List<Integer> ports = Stream.generate(TcpProxy::freePort).limit(4).toList();
		String members = ports.stream().map((port) -> "127.0.0.1:" + port).collect(Collectors.joining(","));
		String cluster = "test-" + UUID.randomUUID();
		survive((index) -> List.of("lf.cluster.engine=hazelcast", "lf.cluster.name=" + cluster,
				"lf.cluster.hazelcast.port=" + ports.get(index), "lf.cluster.hazelcast.members=" + members));
	}

	@Test
	void onRedis() throws Exception {
		try (RedisServer redis = new RedisServer().start()) {
			survive((index) -> List.of("lf.cluster.engine=redis", "spring.data.redis.port=" + redis.port()));
		}
	}

	private interface Properties {

		List<String> of(int index);

	}

	private void survive(Properties properties) throws Exception {
		for (int i = 0; i < 3; i++) {
			this.nodes.add(new Node(i, properties.of(i)));
		}
		for (Node node : this.nodes) {
			node.awaitStart();
		}
		eventually().until(() -> this.nodes.stream().allMatch((node) -> node.ask("STATE").contains(" 3 null")));
		IntStream.range(0, DEVICES).forEach((i) -> this.devices.add(new Device("device" + i)));
		eventually().until(() -> this.devices.stream().allMatch((device) -> device.welcome));
		for (int i = 0; i < 6; i++) {
			daemon(this::command, "commander" + i);
		}
		await(400);

		Node paused = this.nodes.get(1);
		paused.signal("STOP");
		// Not to wait for something, but the fault itself: this long it stands still.
		TimeUnit.NANOSECONDS.sleep(PAUSE.toNanos());
		paused.signal("CONT");
		await(400);

		Node killed = this.nodes.remove(2);
		killed.process.destroyForcibly().waitFor();
		await(400);
		Node successor = new Node(3, properties.of(3));
		successor.awaitStart();
		this.nodes.add(successor);
		await(400);

		this.commanding = false;
		eventually().until(() -> this.devices.stream().allMatch((device) -> device.welcome));
		eventually().untilAsserted(() -> assertThat(
				this.nodes.stream().mapToInt((node) -> Integer.parseInt(node.ask("STATE").split(" ")[1])).sum())
			.as("sessions of all nodes")
			.isEqualTo(DEVICES));
		for (Node node : this.nodes) {
			for (Device device : this.devices) {
				String command = "final-" + node.index + "-" + device.name;
				// A device that has just lost its connection logs in again.
				eventually().until(() -> node.exchange(device.name, command).equals("DONE " + command));
			}
		}
		check();
	}

	/** Waits until some more commands have ended. */
	private void await(int more) {
		int before = this.outcomes.size();
		eventually().until(() -> this.outcomes.size() >= before + more);
	}

	private void check() {
		assertThat(this.executed).as("executions of a command")
			.allSatisfy((command, times) -> assertThat(command.startsWith("final") || times == 1).as(command).isTrue());
		this.outcomes.forEach((command, outcome) -> {
			if (outcome.startsWith("DONE")) {
				assertThat(this.executed).as(command + " was answered").containsKey(command);
				assertThat(outcome).isEqualTo("DONE " + command);
			}
			else if (outcome.startsWith("REJECTED")) {
				assertThat(this.executed).as(command + ": " + outcome).doesNotContainKey(command);
			}
		});
		Map<String, Long> kinds = this.outcomes.values()
			.stream()
			.collect(Collectors.groupingBy((outcome) -> outcome.split(" ")[0], Collectors.counting()));
		System.out.printf("Commands: %s, the longest took %d ms%n", kinds,
				TimeUnit.NANOSECONDS.toMillis(this.longestNanos.get()));
		assertThat(kinds).as("outcomes").containsKeys("DONE");
		// A generous margin for a busy machine: without a deadline it would be the pause.
		assertThat(Duration.ofNanos(this.longestNanos.get())).as("the longest command")
			.isLessThan(COMMAND_TIMEOUT.plusSeconds(8));
	}

	/** Sends commands to random devices by random nodes, one after the other. */
	private void command() {
		while (this.commanding) {
			ThreadLocalRandom random = ThreadLocalRandom.current();
			Node node = this.nodes.get(random.nextInt(this.nodes.size()));
			String command = "c" + this.commands.incrementAndGet();
			long begun = System.nanoTime();
			String outcome = node.exchange("device" + random.nextInt(DEVICES), command);
			if (!outcome.isEmpty()) {
				this.longestNanos.accumulateAndGet(System.nanoTime() - begun, Math::max);
				this.outcomes.put(command, outcome);
			}
		}
	}

	private static void daemon(Runnable task, String name) {
		Thread thread = new Thread(task, name);
		thread.setDaemon(true);
		thread.start();
	}

	/** A node. */
	private static final class Node {

		final int index;

		final Process process;

		private final BlockingQueue<String> ports = new LinkedBlockingQueue<>();

		private volatile int devicePort;

		private volatile int controlPort;

		private volatile boolean standsStill;

		/** How often it stood still. */
		private volatile int pauses;

		Node(int index, List<String> properties) throws IOException {
			this.index = index;
			List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-Xmx256m",
					"-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
					NodeProcess.class.getName(), "lf.cluster.node-name=node" + index));
			command.addAll(properties);
			this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
			daemon(this::readOutput, "output of node " + index);
		}

		private void readOutput() {
			try (BufferedReader reader = this.process.inputReader(StandardCharsets.UTF_8)) {
				for (String line = reader.readLine(); line != null; line = reader.readLine()) {
					if (line.startsWith("PORTS ")) {
						this.ports.add(line);
					}
					else if (line.contains(" ERROR ") || line.contains(" WARN ")) {
						System.out.println("node" + this.index + ": " + line);
					}
				}
			}
			catch (IOException | UncheckedIOException ex) {
				// The process has ended.
			}
		}

		void awaitStart() throws InterruptedException {
			String line = this.ports.poll(180, TimeUnit.SECONDS);
			assertThat(line).as("the ports of node %d", this.index).isNotNull();
			this.devicePort = Integer.parseInt(line.split(" ")[1]);
			this.controlPort = Integer.parseInt(line.split(" ")[2]);
		}

		void signal(String signal) throws Exception {
			this.standsStill = signal.equals("STOP");
			this.pauses += this.standsStill ? 1 : 0;
			assertThat(new ProcessBuilder("kill", "-" + signal, Long.toString(this.process.pid())).start().waitFor())
				.isZero();
		}

		String exchange(String name, String request) {
			return ask("EXCHANGE %s %d %s".formatted(name, COMMAND_TIMEOUT.toMillis(), request));
		}

		/** Returns nothing if the node stands still or is gone. */
		String ask(String line) {
			int before = this.pauses;
			if (this.standsStill) {
				return "";
			}
			try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), this.controlPort)) {
				socket.setSoTimeout(120_000);
				socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
				String answer = new BufferedReader(
						new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))
					.readLine();
				// What was asked before the process stood still is answered when it goes
				// on,
				// and says nothing about time.
				return (answer != null && this.pauses == before) ? answer : "";
			}
			catch (IOException ex) {
				return "";
			}
		}

	}

	/**
	 * A device that keeps a connection to any node, and gives it up if no command comes
	 * for a while.
	 */
	private final class Device {

		final String name;

		volatile boolean welcome;

		private volatile Socket socket;

		Device(String name) {
			this.name = name;
			daemon(this::live, name);
		}

		private void live() {
			while (!ClusterProcessTests.this.ended) {
				Node node = ClusterProcessTests.this.nodes
					.get(ThreadLocalRandom.current().nextInt(ClusterProcessTests.this.nodes.size()));
				try (Socket connection = new Socket(InetAddress.getLoopbackAddress(), node.devicePort)) {
					this.socket = connection;
					connection.setSoTimeout(3_000 + ThreadLocalRandom.current().nextInt(2_000));
					serve(connection);
				}
				catch (IOException ex) {
					// Connects again.
				}
				finally {
					this.welcome = false;
				}
			}
		}

		private void serve(Socket connection) throws IOException {
			BufferedReader reader = new BufferedReader(
					new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8));
			send(connection, "HELLO " + this.name);
			while (true) {
				String line;
				try {
					line = reader.readLine();
				}
				catch (SocketTimeoutException ex) {
					if (ClusterProcessTests.this.commanding || !this.welcome) {
						return;
					}
					continue;
				}
				if (line == null || line.equals("LATER")) {
					return;
				}
				if (line.equals("WELCOME")) {
					this.welcome = true;
				}
				else {
					ClusterProcessTests.this.executed.merge(line, 1, Integer::sum);
					send(connection, line);
				}
			}
		}

		private void send(Socket connection, String line) throws IOException {
			connection.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
		}

		void close() {
			Socket current = this.socket;
			if (current != null) {
				try {
					current.close();
				}
				catch (IOException ex) {
					// It is closed.
				}
			}
		}

	}

}
