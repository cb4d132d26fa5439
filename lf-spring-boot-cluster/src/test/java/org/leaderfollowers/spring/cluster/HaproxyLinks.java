package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;

import org.springframework.util.FileSystemUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * Links between nodes, or from each node to Redis, through a real HAProxy, if it is
 * installed. The links of a node can be cut.
 */
final class HaproxyLinks implements AutoCloseable {

	/** How many ports a node may connect from. */
	private static final int OUTBOUND = 100;

	private static final Path EXECUTABLE = Path.of("/usr/sbin/haproxy");

	private final Path directory = Files.createTempDirectory("haproxy");

	private final List<Integer> targets;

	private final List<Integer> ports;

	/**
	 * The first of the ports that the first node connects from. Below the range that
	 * systems take the ports of clients from.
	 */
	private final int firstOutbound;

	private @Nullable Process process;

	/**
	 * Starts HAProxy.
	 * @param targets the port that each link leads to
	 */
	HaproxyLinks(List<Integer> targets) throws Exception {
		assumeInstalled(EXECUTABLE);
		this.targets = targets;
		this.ports = targets.stream().map((target) -> FreePort.find()).toList();
		this.firstOutbound = 12_000 + OUTBOUND * (int) (ProcessHandle.current().pid() % 180);
		cut(Set.of());
		AbstractClusterEngineTests.eventually().until(() -> this.ports.stream().allMatch(HaproxyLinks::listens));
	}

	static void assumeInstalled(Path executable) {
		assumeThat(Files.isExecutable(executable)).as(executable + " is installed").isTrue();
	}

	private static boolean listens(int port) {
		try (Socket probe = new Socket()) {
			probe.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
			return true;
		}
		catch (IOException ex) {
			return false;
		}
	}

	int port(int node) {
		return this.ports.get(node);
	}

	/** The ports that a node connects from, so that its connections can be told. */
	String outboundPorts(int node) {
		int first = this.firstOutbound + OUTBOUND * node;
		return first + "-" + (first + OUTBOUND - 1);
	}

	/**
	 * Closes all connections, and lets none be made to or from the given nodes.
	 */
	void cut(Set<Integer> nodes) throws Exception {
		List<String> lines = new ArrayList<>(List.of("global", "  maxconn 500", "defaults", "  mode tcp",
				"  timeout connect 5s", "  timeout client 1h", "  timeout server 1h"));
		String rejected = nodes.stream()
			.map((node) -> "  tcp-request connection reject if { src_port %s }\n"
				.formatted(outboundPorts(node).replace('-', ':')))
			.collect(Collectors.joining());
		IntStream.range(0, this.targets.size())
			.filter((node) -> !nodes.contains(node))
			.forEach((node) -> lines.add("listen node%d\n  bind 127.0.0.1:%d\n%s  server target 127.0.0.1:%d"
				.formatted(node, this.ports.get(node), rejected, this.targets.get(node))));
		Path file = Files.write(this.directory.resolve("haproxy.cfg"), lines);
		List<String> command = new ArrayList<>(List.of(EXECUTABLE.toString(), "-db", "-f", file.toString()));
		Process before = this.process;
		if (before != null) {
			// It takes the ports over, and then ends the one before.
			command.addAll(List.of("-st", Long.toString(before.pid())));
		}
		this.process = new ProcessBuilder(command).redirectErrorStream(true)
			.redirectOutput(this.directory.resolve("haproxy.log").toFile())
			.start();
		if (before != null) {
			AbstractClusterEngineTests.eventually().until(() -> !before.isAlive());
		}
		assertThat(this.process.isAlive()).as("HAProxy runs").isTrue();
	}

	@Override
	public void close() throws IOException {
		if (this.process != null) {
			this.process.destroyForcibly();
		}
		FileSystemUtils.deleteRecursively(this.directory);
	}

}
