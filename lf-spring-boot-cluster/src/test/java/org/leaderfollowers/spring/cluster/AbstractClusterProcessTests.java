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
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

import static org.assertj.core.api.Assertions.assertThat;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.eventually;

/**
 * Three processes with some hundred devices, some of which are Modbus slaves behind
 * {@code socat}. One process stands still for a while, another one is killed, and the
 * network cuts one off. Every command is executed at most once, and answered or failed in
 * time. Afterwards each name has one holder, and each device is reached from each node.
 * <p>
 * The system properties {@code cluster.devices} and {@code cluster.slaves} set how many
 * devices there are, and how many of them are such slaves.
 */
@Tag("stress")
@Timeout(600)
@EnabledOnOs(OS.LINUX)
abstract class AbstractClusterProcessTests implements TestDevice.Site {

	private static final int DEVICES = Integer.getInteger("cluster.devices", 300);

	/** Each of them is a process. */
	private static final int SLAVES = Integer.getInteger("cluster.slaves", 60);

	/** How often both ways are measured. The first quarter is for warming up. */
	private static final int ROUNDS = 20;

	private static final int EXCHANGES = 100;

	/** How many devices start together. */
	private static final int RAMP = 50;

	private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(2);

	/** Longer than the lease, so that the others notice. */
	private static final Duration PAUSE = Duration.ofSeconds(20);

	/** Longer than the lease, too. */
	private static final Duration PARTITION = Duration.ofSeconds(12);

	private final long begunNanos = System.nanoTime();

	private final List<Node> nodes = new CopyOnWriteArrayList<>();

	private final List<TestDevice> devices = new CopyOnWriteArrayList<>();

	/** How often each command was executed. */
	private final Map<String, Integer> executed = new ConcurrentHashMap<>();

	/** The outcome of each command, as far as the node that was asked has told. */
	private final Map<String, String> outcomes = new ConcurrentHashMap<>();

	private final AtomicLong longestNanos = new AtomicLong();

	private final AtomicInteger commands = new AtomicInteger();

	private volatile boolean commanding;

	private volatile boolean ended;

	@AfterEach
	void stop() throws IOException {
		this.commanding = false;
		this.ended = true;
		for (TestDevice device : this.devices) {
			device.close();
		}
		this.nodes.forEach((node) -> node.process.destroyForcibly());
	}

	/** The properties of each node. */
	interface Properties {

		List<String> of(int index);

	}

	final void survive(HaproxyLinks links, Properties properties) throws Exception {
		HaproxyLinks.assumeInstalled(TestDevice.Modbus.SOCAT);
		for (int i = 0; i < 3; i++) {
			this.nodes.add(new Node(i, properties.of(i)));
		}
		for (Node node : this.nodes) {
			node.awaitStart();
		}
		awaitWhole();
		IntStream.range(0, DEVICES)
			.forEach((i) -> this.devices
				.add((i < SLAVES) ? new TestDevice.Modbus("modbus" + i, this) : new TestDevice.Line("line" + i, this)));
		TestDevice probe = measure();
		// Not all at once: thousands of programs that start together stop the machine.
		for (int i = 0; i < DEVICES; i += RAMP) {
			List<TestDevice> some = this.devices.subList(i, Math.min(i + RAMP, DEVICES));
			some.forEach((device) -> daemon(device, device.name));
			eventually().until(() -> some.stream().allMatch((device) -> device.welcome));
		}
		this.devices.add(probe);
		this.commanding = true;
		for (int i = 0; i < 6; i++) {
			daemon(this::command, "commander" + i);
		}
		await(DEVICES);
		tell("All devices are connected");

		Node paused = this.nodes.get(1);
		paused.signal("STOP");
		// Not to wait for something, but the fault itself: this long it stands still.
		TimeUnit.NANOSECONDS.sleep(PAUSE.toNanos());
		paused.signal("CONT");
		await(DEVICES);
		awaitWhole();
		tell("A node stood still");

		Node killed = this.nodes.remove(2);
		killed.process.destroyForcibly().waitFor();
		await(DEVICES);
		Node successor = new Node(3, properties.of(3));
		successor.awaitStart();
		this.nodes.add(successor);
		awaitWhole();
		await(DEVICES);
		tell("A node was killed and replaced");

		links.cut(Set.of(0));
		eventually().until(() -> !this.nodes.get(0).ask("STATE").contains(" 3 null"));
		// The fault again.
		TimeUnit.NANOSECONDS.sleep(PARTITION.toNanos());
		links.cut(Set.of());
		awaitWhole();
		await(DEVICES);
		tell("A node was cut off");

		this.commanding = false;
		List<String> names = this.devices.stream().map((device) -> device.name).sorted().toList();
		eventually()
			.untilAsserted(() -> assertThat(held()).as("names held by all nodes").containsExactlyElementsOf(names));
		tell("Each name has one holder");
		this.nodes.parallelStream().forEach((node) -> {
			for (TestDevice device : this.devices) {
				// A device that has just lost its connection logs in again.
				if (!reaches(node, device)) {
					eventually().until(() -> reaches(node, device));
				}
			}
		});
		assertThat(held()).as("names held by all nodes").isEqualTo(names);
		tell("Each node reaches each device");
		check();
	}

	/**
	 * Measures how long commands to a device take, by its own node and by another one, in
	 * turn. Nothing is asserted, because the machine may be busy.
	 */
	private TestDevice measure() {
		TestDevice device = new TestDevice.Line("probe", this);
		daemon(device, device.name);
		eventually().until(() -> device.welcome);
		Node holder = this.nodes.stream()
			.filter((node) -> node.ask("HELD").contains("probe"))
			.findFirst()
			.orElseThrow();
		Node other = this.nodes.get((holder.index + 1) % this.nodes.size());
		List<List<Long>> medians = List.of(new ArrayList<>(), new ArrayList<>());
		List<Double> ratios = new ArrayList<>();
		for (int round = 0; round < ROUNDS; round++) {
			long local = median(holder);
			long remote = median(other);
			if (round >= ROUNDS / 4) {
				medians.get(0).add(local);
				medians.get(1).add(remote);
				ratios.add((double) remote / local);
			}
		}
		medians.forEach(Collections::sort);
		Collections.sort(ratios);
		int middle = ratios.size() / 2;
		System.out.printf(
				"Command by the node of the device: %d µs, by another one: %d µs, ratio %.2f (%.2f to %.2f)%n",
				medians.get(0).get(middle), medians.get(1).get(middle), ratios.get(middle), ratios.get(0),
				ratios.get(ratios.size() - 1));
		return device;
	}

	private static long median(Node node) {
		AtomicReference<String> answer = new AtomicReference<>();
		eventually().untilAsserted(() -> {
			answer.set(node.ask("MEASURE probe " + EXCHANGES));
			// On a busy machine, an exchange may take longer than it may.
			assertThat(answer.get()).as("the median of node %d", node.index).startsWith("MEDIAN ");
		});
		return Long.parseLong(answer.get().split(" ")[1]);
	}

	private boolean reaches(Node node, TestDevice device) {
		String command = "c" + this.commands.incrementAndGet();
		return node.exchange(device.name, command).equals("DONE " + command);
	}

	private void awaitWhole() {
		eventually().until(() -> this.nodes.stream().allMatch((node) -> node.ask("STATE").contains(" 3 null")));
	}

	/**
	 * Returns the names that the nodes hold, sorted. A name with two holders is twice in
	 * it.
	 */
	private List<String> held() {
		return this.nodes.stream()
			.flatMap((node) -> Arrays.stream(node.ask("HELD").split(" ")).skip(1))
			.sorted()
			.toList();
	}

	private void tell(String event) {
		System.out.printf("After %d s: %s. Commands: %s, the longest took %d ms%n",
				TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - this.begunNanos), event, kinds(),
				TimeUnit.NANOSECONDS.toMillis(this.longestNanos.get()));
	}

	private Map<String, Long> kinds() {
		return this.outcomes.values()
			.stream()
			.collect(Collectors.groupingBy((outcome) -> outcome.split(" ")[0], Collectors.counting()));
	}

	@Override
	public int port(boolean modbus) {
		Node node = this.nodes.get(ThreadLocalRandom.current().nextInt(this.nodes.size()));
		return modbus ? node.modbusPort : node.devicePort;
	}

	@Override
	public int silenceMillis() {
		// With more devices, a command comes to each of them less often.
		int shortest = Math.max(3_000, DEVICES * 10);
		return ThreadLocalRandom.current().nextInt(shortest, 2 * shortest);
	}

	@Override
	public boolean commanded() {
		return this.commanding;
	}

	@Override
	public boolean ended() {
		return this.ended;
	}

	@Override
	public void executed(String command) {
		// Those of the measurement have the same names in each round.
		if (!command.startsWith("m")) {
			this.executed.merge(command, 1, Integer::sum);
		}
	}

	/** Waits until some more commands have ended. */
	private void await(int more) {
		int before = this.outcomes.size();
		eventually().until(() -> this.outcomes.size() >= before + more);
	}

	private void check() {
		assertThat(this.executed).as("executions of a command")
			.allSatisfy((command, times) -> assertThat(times).as(command).isEqualTo(1));
		this.outcomes.forEach((command, outcome) -> {
			if (outcome.startsWith("DONE")) {
				assertThat(this.executed).as(command + " was answered").containsKey(command);
				assertThat(outcome).isEqualTo("DONE " + command);
			}
			else if (outcome.startsWith("REJECTED")) {
				assertThat(this.executed).as(command + ": " + outcome).doesNotContainKey(command);
			}
		});
		assertThat(kinds()).as("outcomes").containsKeys("DONE");
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
			String outcome = node.exchange(this.devices.get(random.nextInt(DEVICES)).name, command);
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

		/** Abbreviated names of loggers. They warn of each lost connection. */
		private static final String OF_ENGINES = ".* [a-z.]*(hazelcast|c\\.h\\.|h\\.i\\.|i\\.l\\.)[A-Za-z.]+ +: .*";

		final int index;

		final Process process;

		private final BlockingQueue<String> ports = new LinkedBlockingQueue<>();

		private volatile int devicePort;

		private volatile int controlPort;

		private volatile int modbusPort;

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
					else if (line.contains(" ERROR ") || line.contains(" WARN ") && !line.matches(OF_ENGINES)) {
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
			this.modbusPort = Integer.parseInt(line.split(" ")[3]);
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

}
