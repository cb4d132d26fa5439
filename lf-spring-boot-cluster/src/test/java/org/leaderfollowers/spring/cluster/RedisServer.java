package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.springframework.util.FileSystemUtils;

import static org.assertj.core.api.Assumptions.assumeThat;

/** A real Redis, if it is installed. It keeps nothing when it stops. */
final class RedisServer implements AutoCloseable {

	private static final Path EXECUTABLE = Path.of("/usr/bin/redis-server");

	private final int port = FreePort.find();

	private final Path directory;

	private Process process;

	RedisServer() {
		assumeThat(Files.isExecutable(EXECUTABLE)).as("Redis is installed").isTrue();
		try {
			this.directory = Files.createTempDirectory("redis");
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	int port() {
		return this.port;
	}

	RedisServer start(String... options) {
		List<String> command = new ArrayList<>(List.of(EXECUTABLE.toString(), "--port", String.valueOf(this.port),
				"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", this.directory.toString()));
		command.addAll(List.of(options));
		try {
			this.process = new ProcessBuilder(command).redirectErrorStream(true)
				.redirectOutput(this.directory.resolve("redis.log").toFile())
				.start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		AbstractClusterEngineTests.eventually().until(this::listens);
		return this;
	}

	private boolean listens() throws IOException {
		try (Socket socket = new Socket()) {
			socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), this.port));
			return true;
		}
	}

	void stop() {
		try {
			if (this.process != null) {
				this.process.destroyForcibly().waitFor(60, TimeUnit.SECONDS);
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public void close() {
		stop();
		try {
			FileSystemUtils.deleteRecursively(this.directory);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
