package org.leaderfollowers.spring.handler;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.converter.MessageConverter;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A process with a small heap, which the conversion of a payload uses up, again and again
 * and in several threads. Each client is served or closed with a reason, a new client is
 * served, and the process returns to its baseline.
 */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class ConversionOutOfMemoryTests {

	private static final int PEERS = 4;

	private static final int ROUNDS = 2;

	/** As a JSON tree, more than the heap; as bytes, a small part of it. */
	private static final String HUNGRY = "[" + "[],".repeat(1_300_000) + "[]]";

	private static final String MODEST = "[[],[]]";

	private static final Duration DEADLINE = Duration.ofSeconds(60);

	/** The JDK opens files when it likes. */
	private static final int DESCRIPTOR_TOLERANCE = 5;

	/** The JDK creates some objects, and some buffers for threads, when it likes. */
	private static final long HEAP_TOLERANCE = 4_000_000;

	private static final long DIRECT_TOLERANCE = 500_000;

	private final ExecutorService clients = Executors.newFixedThreadPool(PEERS);

	@TempDir
	private Path directory;

	private @Nullable Process process;

	private @Nullable Socket control;

	/** Where the heap is used up. */
	enum Place {

		/** Jackson reads a tree: the heap is used up by the message itself. */
		JSON(Trees.class),

		/** A converter of the application reads a payload. */
		CONVERTER(Parcels.class),

		/** Jackson writes a reply. */
		REPLY(Replying.class);

		private final Class<?> handler;

		Place(Class<?> handler) {
			this.handler = handler;
		}

	}

	@LfHandler
	static class Trees {

		@OnMessage
		String count(JsonNode tree) {
			return "elements: " + tree.size();
		}

	}

	@LfHandler
	@Import(ParcelConverter.class)
	static class Parcels {

		@OnMessage
		String count(Parcel parcel) {
			return "length: " + parcel.text().length();
		}

	}

	@LfHandler
	static class Replying {

		@OnMessage
		Parcel reply(String text) {
			return new Parcel(text);
		}

	}

	/**
	 * A payload, or a reply.
	 *
	 * @param text its text, which Jackson asks for when it writes a reply
	 */
	record Parcel(String text) {

		@Override
		public String text() {
			if (this.text.length() > MODEST.length()) {
				useUpHeap();
			}
			return this.text;
		}

	}

	static class ParcelConverter implements MessageConverter {

		@Override
		public @Nullable Object fromMessage(Message<?> message, Class<?> targetClass) {
			if (targetClass != Parcel.class) {
				return null;
			}
			byte[] bytes = (byte[]) message.getPayload();
			if (bytes.length > MODEST.length()) {
				useUpHeap();
			}
			return new Parcel(new String(bytes, StandardCharsets.UTF_8));
		}

		@Override
		public @Nullable Message<?> toMessage(Object payload, @Nullable MessageHeaders headers) {
			return null;
		}

	}

	/**
	 * Fails when less than a kilobyte is left. While several threads fill the heap, the
	 * last bytes would take a minute.
	 */
	private static void useUpHeap() {
		Object[] kept = null;
		int size = 1 << 20;
		while (true) {
			try {
				kept = new Object[] { kept, new byte[size] };
			}
			catch (OutOfMemoryError ex) {
				size /= 2;
				if (size < 1 << 10) {
					throw ex;
				}
			}
		}
	}

	/**
	 * The state of the process.
	 *
	 * @param port the port of its server
	 * @param disorder why the pool is not at rest; empty if it is
	 * @param handles how many handles are registered
	 * @param open how many connections are open
	 * @param closed how many connections were closed, by reason
	 * @param unaccounted how many connections ended without a reason
	 * @param bufferedBytes the memory that connections hold
	 * @param threads how many threads of Java there are
	 * @param directBytes the size of all direct buffers
	 * @param heapBytes the heap in use after a collection
	 */
	record State(int port, String disorder, int handles, int open, Map<CloseReason, Long> closed, long unaccounted,
			long bufferedBytes, int threads, long directBytes, long heapBytes) {

		static State of(LeaderFollowersServers servers) {
			ServerSnapshot server = servers.get("default").snapshot();
			PoolSnapshot pool = servers.get("default").pool().snapshot();
			System.gc();
			return new State(server.port(), describeDisorder(pool),
					pool.handleSets().stream().mapToInt(PoolSnapshot.HandleSetSnapshot::handles).sum(),
					server.openConnections(), server.closedConnections(),
					server.acceptedConnections() - server.openConnections()
							- server.closedConnections().values().stream().mapToLong(Long::longValue).sum(),
					pool.bufferedBytes(), ManagementFactory.getThreadMXBean().getThreadCount(),
					ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)
						.stream()
						.filter((buffers) -> buffers.getName().equals("direct"))
						.mapToLong(BufferPoolMXBean::getMemoryUsed)
						.sum(),
					Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
		}

		private static String describeDisorder(PoolSnapshot pool) {
			List<PoolSnapshot.HandleSetSnapshot> used = pool.handleSets()
				.stream()
				.filter((set) -> set.inUse() || set.leader() != null || set.handles() > 0)
				.toList();
			boolean led = used.stream().map(PoolSnapshot.HandleSetSnapshot::leader).distinct().count() == used.size()
					&& used.stream().allMatch((set) -> set.leader() != null && set.deactivated() == 0)
					&& pool.count(ThreadRole.LEADER) == used.size();
			boolean atRest = pool.count(ThreadRole.PROCESSING) == 0 && pool.threads().size() == pool.minThreads();
			return (led && atRest) ? "" : pool.toString();
		}

		List<String> deviations(State before) {
			List<String> deviations = new ArrayList<>();
			if (!this.disorder.isEmpty()) {
				deviations.add(this.disorder);
			}
			compare(deviations, "unaccounted connections", 0, this.unaccounted, 0);
			compare(deviations, "handles", before.handles, this.handles, 0);
			compare(deviations, "open connections", before.open, this.open, 0);
			compare(deviations, "buffered bytes", before.bufferedBytes, this.bufferedBytes, 0);
			compare(deviations, "threads", before.threads, this.threads, 0);
			compare(deviations, "direct memory", before.directBytes, this.directBytes, DIRECT_TOLERANCE);
			compare(deviations, "heap", before.heapBytes, this.heapBytes, HEAP_TOLERANCE);
			return deviations;
		}

		static void compare(List<String> deviations, String name, long before, long now, long tolerance) {
			if (now > before + tolerance) {
				deviations.add("%s: %d at first, %d now".formatted(name, before, now));
			}
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ JacksonAutoConfiguration.class, LeaderFollowersAutoConfiguration.class })
	static class Application {

	}

	/** Tells its state, as JSON, for each line that the test sends. */
	static class Main {

		public static void main(String[] arguments) throws IOException {
			try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
					BufferedReader questions = new BufferedReader(new InputStreamReader(socket.getInputStream()));
					PrintWriter answers = new PrintWriter(socket.getOutputStream(), true);
					ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class,
							Place.valueOf(arguments[1]).handler)
						.web(WebApplicationType.NONE)
						.run("--lf.server.port=0", "--lf.server.max-message-size=8MB", "--lf.pool.threads.min=2",
								"--lf.pool.threads.max=8", "--lf.pool.threads.keep-alive=1s")) {
				LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
				while (questions.readLine() != null) {
					answers.println(JsonMapper.shared().writeValueAsString(State.of(servers)));
				}
			}
		}

	}

	@AfterEach
	void stop() throws Exception {
		this.clients.shutdownNow();
		if (this.control != null) {
			this.control.close();
		}
		if (this.process != null) {
			this.process.destroyForcibly().waitFor();
		}
	}

	@ParameterizedTest
	@EnumSource
	void eachClientIsServedOrClosed(Place place) throws Exception {
		start(place);
		int port = state().port();
		for (int i = 0; i < 2 * PEERS; i++) {
			assertNewClientIsServed(port);
		}
		State before = Awaitility.await().atMost(DEADLINE).until(this::state, (state) -> state.disorder().isEmpty());
		int descriptors = countDescriptors();
		List<Future<?>> all = new ArrayList<>();
		for (int i = 0; i < PEERS; i++) {
			all.add(this.clients.submit(() -> {
				for (int round = 0; round < ROUNDS; round++) {
					converse(port, place);
				}
				return null;
			}));
		}
		for (Future<?> one : all) {
			one.get();
		}
		assertNewClientIsServed(port);
		Awaitility.await().atMost(DEADLINE).untilAsserted(() -> {
			List<String> deviations = state().deviations(before);
			State.compare(deviations, "descriptors", descriptors, countDescriptors(), DESCRIPTOR_TOLERANCE);
			assertThat(deviations).isEmpty();
		});
		// No message is invalid, so this is the lack of memory. The log may lack it too.
		assertThat(state().closed().get(CloseReason.HANDLER_ERROR)).isPositive();
	}

	private void start(Place place) throws IOException {
		try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			this.process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
					"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
					System.getProperty("java.class.path"), Main.class.getName(),
					Integer.toString(listener.getLocalPort()), place.name())
				.redirectErrorStream(true)
				.redirectOutput(output().toFile())
				.start();
			listener.setSoTimeout((int) DEADLINE.toMillis());
			this.control = listener.accept();
			this.control.setSoTimeout((int) DEADLINE.toMillis());
		}
	}

	private Path output() {
		return this.directory.resolve("output.txt");
	}

	private State state() throws IOException {
		Socket socket = Objects.requireNonNull(this.control);
		socket.getOutputStream().write('\n');
		BufferedReader answers = new BufferedReader(new InputStreamReader(socket.getInputStream()));
		String answer = answers.readLine();
		assertThat(answer).as("'%s' has an answer", "state").isNotNull();
		return JsonMapper.shared().readValue(answer, State.class);
	}

	private int countDescriptors() throws IOException {
		try (Stream<Path> files = Files
			.list(Path.of("/proc/%d/fd".formatted(Objects.requireNonNull(this.process).pid())))) {
			return (int) files.count();
		}
	}

	private static void assertNewClientIsServed(int port) throws IOException {
		try (LineClient client = new LineClient(port)) {
			assertThat(client.ask(MODEST)).isNotEqualTo("<closed>");
		}
	}

	/** Sends a line that uses up the heap, and then one that costs nothing. */
	private static void converse(int port, Place place) throws IOException {
		try (LineClient client = new LineClient(port)) {
			if (!client.ask((place == Place.JSON) ? HUNGRY : MODEST + MODEST).equals("<closed>")) {
				client.ask(MODEST);
			}
		}
		catch (SocketTimeoutException ex) {
			throw new AssertionError("A client was neither served nor closed", ex);
		}
		catch (IOException ex) {
			// The server has closed the connection.
		}
	}

}
