package org.leaderfollowers.benchmarks.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * What whoever starts the generator as a process says to it, and reads from it.
 */
@Timeout(120)
class LoadProcessTests {

	private final PipedOutputStream commands = new PipedOutputStream();

	private final PipedInputStream output = new PipedInputStream(64 * 1024);

	private final BufferedReader lines = new BufferedReader(new InputStreamReader(this.output, StandardCharsets.UTF_8));

	private Thread thread = new Thread();

	@BeforeEach
	void start() throws IOException {
		LoadProcess process = new LoadProcess(new PipedInputStream(this.commands),
				new PrintStream(new PipedOutputStream(this.output), true, StandardCharsets.UTF_8));
		this.thread = new Thread(() -> {
			try {
				process.runCommands();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		});
		this.thread.start();
	}

	@AfterEach
	void endsWithItsInput() throws Exception {
		this.commands.close();
		this.thread.join();
	}

	@Test
	void runsOneLoadAfterTheOther() throws IOException {
		try (LineServer server = LineServer.echoing()) {
			long before = 0;
			for (String load : new String[] { "--connections=3 --pipeline=2", "--connections=5 --rate=500" }) {
				say("--port=" + server.port() + " --warmup=0.05 --seconds=2 " + load);
				assertThat(this.lines.readLine()).isEqualTo("START");
				assertThat(this.lines.readLine()).isEqualTo("END");
				int atEnd = server.received();
				await().atMost(Duration.ofSeconds(60)).until(() -> server.received() > atEnd);
				say("");
				LoadResult result = LoadResult.parse(this.lines.readLine());
				assertThat(result.errors()).isZero();
				assertThat(result.requests()).isPositive();
				assertThat(result.total() + before).isEqualTo(server.received());
				before = server.received();
			}
		}
	}

	@Test
	void holdsIdleConnections() throws IOException {
		try (LineServer server = LineServer.echoing()) {
			say("--port=" + server.port() + " --connections=20 --idle=true");
			assertThat(this.lines.readLine()).isEqualTo("IDLE errors=0");
			assertThat(server.connections()).isEqualTo(20);
			assertThat(server.received()).isEqualTo(20);
			say("");
			await().atMost(Duration.ofSeconds(60)).until(() -> server.connections() == 0);
		}
	}

	@Test
	void saysWhatIsWrongAndGoesOn() throws IOException {
		try (LineServer server = LineServer.echoing()) {
			say("--conections=3");
			assertThat(this.lines.readLine()).startsWith("FAILED").contains("--conections");
			say("--port=" + server.port() + " --payload=3");
			assertThat(this.lines.readLine()).startsWith("FAILED").contains("payload");
			say("--port=" + server.port() + " --connections=1 --idle=true");
			assertThat(this.lines.readLine()).isEqualTo("IDLE errors=0");
			say("");
		}
	}

	private void say(String line) throws IOException {
		this.commands.write((line + "\n").getBytes(StandardCharsets.UTF_8));
		this.commands.flush();
	}

}
