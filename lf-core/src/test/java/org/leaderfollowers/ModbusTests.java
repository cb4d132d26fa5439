package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * Many callers of a Modbus server behind a real HAProxy, if it is installed. HAProxy cuts
 * connections while requests are waiting for replies: no reply reaches another caller,
 * and each call ends with a reply, a timeout or a loss.
 */
@Timeout(240)
class ModbusTests {

	private static final List<Path> PLACES = List.of(Path.of("/usr/sbin/haproxy"), Path.of("/usr/local/sbin/haproxy"));

	/** Number, protocol, then the length of what follows: unit, function, data. */
	private static final Framing FRAMING = Framing.lengthField(2).offset(4);

	private static final int WRITE_REGISTER = 6;

	@RegisterExtension
	final Engine engine = new Engine();

	@TempDir
	Path directory;

	private final ScheduledExecutorService slowness = Executors.newSingleThreadScheduledExecutor();

	private final ExecutorService callers = Executors.newCachedThreadPool();

	private final Map<ClientSnapshot.Outcome, LongAdder> outcomes = new ConcurrentHashMap<>();

	private final LongAdder wrong = new LongAdder();

	/** Whether HAProxy cuts no more connections. */
	private volatile boolean cut;

	private @Nullable Process haproxy;

	private int port;

	private TcpServer server;

	@BeforeEach
	void start() throws IOException {
		Path executable = PLACES.stream().filter(Files::isExecutable).findFirst().orElse(null);
		assumeThat(executable).as("HAProxy is installed").isNotNull();
		this.server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 4)).framing(FRAMING).handler(this::serve));
		this.port = FreePort.find();
		Path file = this.directory.resolve("haproxy.cfg");
		Files.write(file,
				List.of("global", "  stats socket " + socket() + " level admin", "defaults", "  mode tcp",
						"  timeout connect 5s", "  timeout client 60s", "  timeout server 60s", "listen modbus",
						"  bind 127.0.0.1:" + this.port, "  server plc 127.0.0.1:" + this.server.port()));
		this.haproxy = new ProcessBuilder(String.valueOf(executable), "-db", "-f", file.toString())
			.redirectErrorStream(true)
			.redirectOutput(this.directory.resolve("haproxy.log").toFile())
			.start();
		Engine.eventually().until(this::listens);
	}

	private Path socket() {
		return this.directory.resolve("admin");
	}

	private boolean listens() {
		try (Socket probe = new Socket()) {
			probe.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), this.port));
			return true;
		}
		catch (IOException ex) {
			return false;
		}
	}

	@AfterEach
	void stop() throws Exception {
		this.callers.shutdownNow();
		this.slowness.shutdownNow();
		Process process = this.haproxy;
		if (process != null) {
			process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
		}
	}

	/**
	 * Replies at once, later, or never; from a copy, because the buffer is only valid
	 * during the call.
	 */
	private void serve(Connection connection, ByteBuffer request) {
		ByteBuffer reply = ByteBuffer.allocate(request.remaining()).put(request).flip();
		int value = reply.getShort(8) & 0xffff;
		if (value % 97 == 0) {
			return;
		}
		this.slowness.schedule(() -> {
			if (connection.isOpen()) {
				connection.send(reply);
			}
		}, value % 50, TimeUnit.MILLISECONDS);
	}

	@Test
	void noReplyReachesAnotherCaller() throws Exception {
		run(200, 40, 5);
	}

	@Test
	@Tag("stress")
	void noReplyReachesAnotherOfAThousandCallers() throws Exception {
		run(1000, 100, 30);
	}

	private void run(int count, int requests, int cuts) throws Exception {
		try (TcpClient client = TcpClient.builder(this.engine.pool(2, 4))
			.name("plc")
			.address("127.0.0.1", this.port)
			.connections(2)
			.framing(FRAMING)
			.correlation(Correlation.stamped(0, 2))
			.requestTimeout(Duration.ofMillis(500))
			.backoff(Duration.ofMillis(5), Duration.ofMillis(50))
			.build()) {
			client.start();
			List<Future<Integer>> calls = new ArrayList<>();
			for (int i = 0; i < count; i++) {
				int unit = i;
				calls.add(this.callers.submit(() -> call(client, unit, requests)));
			}
			// Before that, there is no connection to cut.
			Engine.eventually().until(() -> this.outcomes.containsKey(ClientSnapshot.Outcome.REPLIED));
			for (int i = 0; i < cuts; i++) {
				Engine.elapse(Duration.ofMillis(100));
				cut();
			}
			this.cut = true;
			long begun = 0;
			for (Future<Integer> call : calls) {
				begun += call.get(200, TimeUnit.SECONDS);
			}
			assertThat(this.wrong.sum()).as("wrong replies").isZero();
			long ended = this.outcomes.values().stream().mapToLong(LongAdder::sum).sum();
			assertThat(ended).as("%s", this.outcomes).isEqualTo(begun).isGreaterThanOrEqualTo((long) count * requests);
			assertThat(this.outcomes).containsKeys(ClientSnapshot.Outcome.REPLIED, ClientSnapshot.Outcome.LOST);
			// The cuts are closer together than the timeout: only after them is it
			// certain
			// that a request without a reply keeps its connection until its time is over.
			Engine.eventually().until(() -> exchange(client, request(count, 0, 0)) == ClientSnapshot.Outcome.TIMED_OUT);
			Engine.eventually().until(() -> client.snapshot().inFlight() == 0);
		}
	}

	/** Makes HAProxy close its current connections. */
	private void cut() throws IOException {
		try (SocketChannel admin = SocketChannel.open(StandardProtocolFamily.UNIX)) {
			admin.connect(UnixDomainSocketAddress.of(socket()));
			admin.write(ByteBuffer.wrap("shutdown sessions server modbus/plc\n".getBytes(StandardCharsets.US_ASCII)));
			admin.read(ByteBuffer.allocate(100));
		}
	}

	/** Makes so many requests, and further ones until no connection is cut any more. */
	private int call(TcpClient client, int unit, int requests) {
		SplittableRandom random = new SplittableRandom(unit);
		int i = 0;
		for (; i < requests || !this.cut; i++) {
			ClientSnapshot.Outcome outcome = exchange(client, request(unit, i, random.nextInt(1 << 16)));
			this.outcomes.computeIfAbsent(outcome, (key) -> new LongAdder()).increment();
		}
		return i;
	}

	private ClientSnapshot.Outcome exchange(TcpClient client, ByteBuffer request) {
		try {
			ByteBuffer reply = client.exchange(request);
			if (!reply.equals(request)) {
				this.wrong.increment();
			}
			return ClientSnapshot.Outcome.REPLIED;
		}
		catch (ExchangeTimeoutException ex) {
			return ClientSnapshot.Outcome.TIMED_OUT;
		}
		catch (ExchangeLostException ex) {
			return ClientSnapshot.Outcome.LOST;
		}
		catch (ExchangeRejectedException ex) {
			return ClientSnapshot.Outcome.REJECTED;
		}
	}

	/** The number is the caller's own and must come back with the reply. */
	private static ByteBuffer request(int number, int address, int value) {
		return ByteBuffer.allocate(10)
			.putShort((short) number)
			.putShort((short) 0)
			.put((byte) number)
			.put((byte) WRITE_REGISTER)
			.putShort((short) address)
			.putShort((short) value)
			.flip();
	}

}
