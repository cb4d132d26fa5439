package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * A client of a real Redis, if it is installed.
 */
@Timeout(120)
class RedisTests {

	private static final Path EXECUTABLE = Path.of("/usr/bin/redis-server");

	private static final int CALLERS = 64;

	private static final int EXCHANGES = 10_000;

	@RegisterExtension
	final Engine engine = new Engine();

	@TempDir
	Path directory;

	private final ExecutorService callers = Executors.newCachedThreadPool();

	private int port;

	private @Nullable Process redis;

	@BeforeEach
	void start() throws IOException {
		assumeThat(Files.isExecutable(EXECUTABLE)).as("Redis is installed").isTrue();
		this.port = FreePort.find();
		startRedis();
	}

	private void startRedis() throws IOException {
		this.redis = new ProcessBuilder(EXECUTABLE.toString(), "--port", String.valueOf(this.port), "--bind",
				"127.0.0.1", "--save", "", "--appendonly", "no", "--dir", this.directory.toString())
			.redirectErrorStream(true)
			.redirectOutput(this.directory.resolve("redis.log").toFile())
			.start();
		Engine.eventually().until(this::listens);
	}

	private boolean listens() {
		try (Socket socket = new Socket()) {
			socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), this.port));
			return true;
		}
		catch (IOException ex) {
			return false;
		}
	}

	private void stopRedis() throws InterruptedException {
		Process process = this.redis;
		if (process != null) {
			process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
		}
	}

	@AfterEach
	void stop() throws InterruptedException {
		stopRedis();
		this.callers.shutdownNow();
	}

	private TcpClient.Builder client() {
		return TcpClient.builder(this.engine.pool(2, 4))
			.name("redis")
			.address("127.0.0.1", this.port)
			.framing(Framing.resp())
			.correlation(Correlation.inOrder())
			.requestTimeout(Engine.DEADLINE);
	}

	@Test
	void callersShareOneConnectionAndEachGetsItsReply() throws Exception {
		try (TcpClient client = client().build()) {
			client.start();
			List<Future<Integer>> wrong = new ArrayList<>();
			for (int i = 0; i < CALLERS; i++) {
				int caller = i;
				wrong.add(this.callers.submit(() -> countWrongReplies(client, caller)));
			}
			for (Future<Integer> count : wrong) {
				assertThat(count.get(60, TimeUnit.SECONDS)).isZero();
			}
			// An exchange is counted after its caller has received the reply.
			Engine.eventually()
				.untilAsserted(() -> assertThat(client.snapshot().exchanges())
					.containsEntry(ClientSnapshot.Outcome.REPLIED, (long) EXCHANGES / CALLERS * CALLERS));
			assertThat(client.snapshot().connects()).isEqualTo(1);
		}
	}

	private static int countWrongReplies(TcpClient client, int caller) {
		int wrong = 0;
		for (int i = 0; i < EXCHANGES / CALLERS; i++) {
			String text = caller + "-" + i;
			String reply = Engine.text(client.exchange(command("ECHO", text)));
			wrong += reply.equals("$%d\r\n%s\r\n".formatted(text.length(), text)) ? 0 : 1;
		}
		return wrong;
	}

	private static ByteBuffer command(String... words) {
		StringBuilder command = new StringBuilder("*" + words.length + "\r\n");
		for (String word : words) {
			command.append("$%d\r\n%s\r\n".formatted(word.length(), word));
		}
		return Engine.bytes(command.toString());
	}

	@Test
	void aClientReturnsWhenRedisDoes() throws Exception {
		try (TcpClient client = client().backoff(Duration.ofMillis(5), Duration.ofMillis(50)).build()) {
			client.start();
			assertThat(Engine.text(client.exchange(command("PING")))).isEqualTo("+PONG\r\n");
			stopRedis();
			Engine.eventually().until(() -> client.snapshot().connected() == 0);
			Future<String> later = this.callers.submit(() -> Engine.text(client.exchange(command("ECHO", "back"))));
			Engine.eventually().until(() -> client.snapshot().waiting() == 1);
			startRedis();
			assertThat(later.get(60, TimeUnit.SECONDS)).isEqualTo("$4\r\nback\r\n");
		}
	}

}
