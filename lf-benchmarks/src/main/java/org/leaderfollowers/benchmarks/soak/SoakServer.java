package org.leaderfollowers.benchmarks.soak;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import com.sun.management.GarbageCollectorMXBean;
import com.sun.management.OperatingSystemMXBean;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.benchmarks.attack.Attacker;
import org.leaderfollowers.benchmarks.attack.Certificate;
import org.leaderfollowers.benchmarks.load.Arguments;

/**
 * The process that a soak observes: servers of all kinds in one pool, and a client that
 * forwards requests from one of them to another. It obeys the commands of {@link Soak} on
 * its standard input, one a line, and answers each of them with a line.
 */
final class SoakServer {

	/** Where each request takes a few milliseconds. */
	static final String BLOCKING = "blocking";

	static final String LINES = "lines";

	static final String LENGTHS = "lengths";

	/** Forwards its requests to {@link #LINES}. */
	static final String RELAY = "relay";

	static final String TLS = "tls";

	static final String UDP = "udp";

	static final int MIN_THREADS = 2;

	static final int MAX_THREADS = 24;

	private static final int LARGE_REPLY = 48 * 1024;

	private static final long LOOK_INTERVAL_MS = 20;

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder()
		.name("soak")
		.threads(MIN_THREADS, MAX_THREADS)
		.keepAlive(Duration.ofSeconds(1))
		.build();

	private final Map<String, Server> servers = new LinkedHashMap<>();

	private final TcpClient client;

	private final List<Certificate> certificates;

	private final Random random = new Random();

	private final Plant plant;

	/** For everything that should take no time: a busy machine is no defect. */
	private final Duration timeout;

	private final AtomicLong looks = new AtomicLong();

	private final AtomicLong violations = new AtomicLong();

	private int reloads;

	private volatile boolean closed;

	private SoakServer(List<Certificate> certificates, Plant plant, Duration timeout) throws IOException {
		this.certificates = certificates;
		this.plant = plant;
		this.timeout = timeout;
		TcpServer lines = start(tcp(LINES, Framing.line()).handler(this::echo));
		this.client = TcpClient.builder(this.pool)
			.name("forward")
			.address(lines.address())
			.connections(2)
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.requestTimeout(this.timeout)
			.build();
		this.client.start();
		start(tcp(LENGTHS, Framing.lengthField(Integer.BYTES)).handler(this::echo));
		start(tcp(TLS, Framing.line()).tls(ServerTls.of(certificates.get(0).serverContext()))
			.handshakeTimeout(timeout)
			.handler(this::echo));
		start(tcp(BLOCKING, Framing.line()).handler((connection, message) -> {
			TimeUnit.MILLISECONDS.sleep(1 + this.random.nextInt(5));
			echo(connection, message);
		}));
		start(tcp(RELAY, Framing.line()).handler(this::forward));
		UdpServer udp = UdpServer.builder(this.pool)
			.name(UDP)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.maxReplyRate(0)
			.handler(this::echo)
			.build();
		udp.start();
		this.servers.put(UDP, udp);
		Thread observer = new Thread(this::observeLeaders, "leader observer");
		observer.setDaemon(true);
		observer.start();
	}

	private TcpServer.Builder tcp(String name, Framing framing) {
		return TcpServer.builder(this.pool)
			.name(name)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.framing(framing);
	}

	private TcpServer start(TcpServer.Builder builder) {
		TcpServer server = builder.build();
		server.start();
		this.servers.put(server.name(), server);
		return server;
	}

	/** Does what the first byte says; honest requests begin with none of these. */
	private void echo(Connection connection, ByteBuffer message) throws IOException {
		this.plant.handle(connection, message);
		switch (message.hasRemaining() ? message.get(message.position()) : 0) {
			case 'T' -> throw new IllegalArgumentException("The client asked for an exception");
			case 'E' -> throw new AssertionError("The client asked for an error");
			case 'L' -> connection.send(ByteBuffer.allocate(LARGE_REPLY));
			default -> connection.send(message);
		}
	}

	/**
	 * All clients share the connections of the forwarding one, so it asks for no error.
	 */
	private void forward(Connection connection, ByteBuffer message) throws IOException {
		if (message.hasRemaining() && "TEL".indexOf(message.get(message.position())) >= 0) {
			echo(connection, message);
		}
		else {
			connection.send(this.client.exchange(message));
		}
	}

	/**
	 * Looks at the leaders again and again. Each leader leads one set, each thread in the
	 * role of a leader leads, and no set stays without a leader while threads are idle.
	 */
	private void observeLeaders() {
		while (!this.closed) {
			PoolSnapshot snapshot = this.pool.snapshot();
			Set<String> leaders = new HashSet<>();
			int wrong = 0;
			for (PoolSnapshot.HandleSetSnapshot set : snapshot.handleSets()) {
				if (set.leader() != null && !leaders.add(set.leader())) {
					wrong++;
				}
				if (set.inUse() && set.leader() == null && set.vacantFor().compareTo(this.timeout) > 0
						&& snapshot.count(ThreadRole.FOLLOWER) > 0) {
					wrong++;
				}
			}
			if (snapshot.count(ThreadRole.LEADER) > leaders.size()) {
				wrong++;
			}
			if (wrong > 0) {
				System.err.println("Leaders: " + snapshot);
			}
			this.violations.addAndGet(wrong);
			this.looks.incrementAndGet();
			pause(LOOK_INTERVAL_MS);
		}
	}

	private static void pause(long millis) {
		try {
			TimeUnit.MILLISECONDS.sleep(millis);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private String ports() {
		List<String> ports = new ArrayList<>();
		this.servers.forEach((name, server) -> ports.add(name + "=" + server.port()));
		return String.join(" ", ports);
	}

	private String obey(String command) throws IOException {
		String[] words = command.split(" ");
		switch (words[0]) {
			case "sample" -> {
				return Sample.print(sample());
			}
			case "collect" -> {
				collectGarbage();
				return Sample.print(sample());
			}
			case "resize" -> this.pool.resize(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
			case "pause" -> this.servers.get(words[1]).pause();
			case "resume" -> this.servers.get(words[1]).resume();
			case "reload" -> ((TcpServer) this.servers.get(TLS))
				.tls(ServerTls.of(this.certificates.get(++this.reloads % this.certificates.size()).serverContext()));
			case "close" -> {
				return Integer.toString(closeConnections(Integer.parseInt(words[1])));
			}
			default -> throw new IllegalArgumentException(command);
		}
		return "done";
	}

	/** What an operator does with connections of clients that misbehave. */
	private int closeConnections(int most) {
		int closed = 0;
		for (Server server : this.servers.values()) {
			if (server instanceof TcpServer tcp) {
				List<Connection> candidates = tcp.openConnections()
					.filter((connection) -> Attacker.isAttacker(connection.remoteAddress().getAddress()))
					.limit(most)
					.toList();
				candidates.forEach(Connection::close);
				closed += candidates.size();
			}
		}
		return closed;
	}

	private Map<Sample.Figure, Double> sample() throws IOException {
		PoolSnapshot snapshot = this.pool.snapshot();
		Map<Sample.Figure, Double> values = process();
		values.put(Sample.Figure.POOL_THREADS, (double) snapshot.threads().size());
		values.put(Sample.Figure.BUFFERED, (double) snapshot.bufferedBytes());
		values.put(Sample.Figure.HANDLE_SETS,
				(double) snapshot.handleSets().stream().filter(PoolSnapshot.HandleSetSnapshot::inUse).count());
		values.put(Sample.Figure.CONNECTIONS,
				(double) this.servers.values()
					.stream()
					.mapToLong((server) -> server.snapshot().openConnections())
					.sum());
		values.put(Sample.Figure.ACCEPTED,
				(double) this.servers.values()
					.stream()
					.mapToLong((server) -> server.snapshot().acceptedConnections())
					.sum());
		values.put(Sample.Figure.LEADER_VIOLATIONS, (double) this.violations.get());
		values.put(Sample.Figure.LEADER_LOOKS, (double) this.looks.get());
		return values;
	}

	/** The figures of the process, with or without servers. */
	private static Map<Sample.Figure, Double> process() throws IOException {
		Map<Sample.Figure, Double> values = new EnumMap<>(Sample.Figure.class);
		values.put(Sample.Figure.HEAP, (double) heapAfterCollection());
		values.put(Sample.Figure.DIRECT,
				(double) ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)
					.stream()
					.filter((buffers) -> buffers.getName().equals("direct"))
					.mapToLong(BufferPoolMXBean::getMemoryUsed)
					.sum());
		values.put(Sample.Figure.DESCRIPTORS, (double) descriptors());
		values.put(Sample.Figure.THREADS, (double) ManagementFactory.getThreadMXBean().getThreadCount());
		values.put(Sample.Figure.CPU_SECONDS,
				ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime() / 1e9);
		return values;
	}

	/** What the latest collection of any collector has left in the pools of the heap. */
	private static long heapAfterCollection() {
		long latest = -1;
		long bytes = 0;
		Set<String> heap = new HashSet<>();
		ManagementFactory.getMemoryPoolMXBeans()
			.stream()
			.filter((memory) -> memory.getType() == MemoryType.HEAP)
			.forEach((memory) -> heap.add(memory.getName()));
		for (GarbageCollectorMXBean collector : ManagementFactory.getPlatformMXBeans(GarbageCollectorMXBean.class)) {
			if (collector.getLastGcInfo() != null && collector.getLastGcInfo().getEndTime() > latest) {
				latest = collector.getLastGcInfo().getEndTime();
				bytes = 0;
				for (Map.Entry<String, MemoryUsage> usage : collector.getLastGcInfo()
					.getMemoryUsageAfterGc()
					.entrySet()) {
					bytes += heap.contains(usage.getKey()) ? usage.getValue().getUsed() : 0;
				}
			}
		}
		return bytes;
	}

	private static void collectGarbage() {
		for (int i = 0; i < 3; i++) {
			System.gc();
			// A thread frees buffers off the heap only after a collection
			pause(100);
		}
	}

	/**
	 * Sockets, selectors and pipes. Files of the class path are left out: the JDK opens
	 * them when it likes.
	 */
	private static long descriptors() throws IOException {
		long count = 0;
		try (DirectoryStream<Path> links = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
			for (Path link : links) {
				count += isChannel(link) ? 1 : 0;
			}
		}
		return count;
	}

	private static boolean isChannel(Path link) {
		try {
			String target = Files.readSymbolicLink(link).toString();
			return target.startsWith("socket:") || target.startsWith("anon_inode:") || target.startsWith("pipe:");
		}
		catch (IOException ex) {
			// Was closed since the directory was listed
			return false;
		}
	}

	/**
	 * Closes in the reverse order of the start, so that requests can still be forwarded.
	 * Returns whether everything ended in its grace period.
	 */
	private boolean close() {
		List<Server> reverse = new ArrayList<>(this.servers.values());
		Collections.reverse(reverse);
		Server lines = reverse.remove(reverse.size() - 1);
		boolean done = true;
		for (Server server : reverse) {
			done &= server.close(this.timeout);
		}
		done &= this.client.close(this.timeout);
		done &= lines.close(this.timeout);
		done &= this.pool.close(this.timeout);
		this.closed = true;
		return done;
	}

	/**
	 * Runs the servers until the command {@code end}. It prints the ports, and in the end
	 * whether the servers were drained in time, and the figures of the process before and
	 * after.
	 * @param args {@code --certificates}, and optionally {@code --plant} and
	 * {@code --timeout}
	 * @throws Exception if the servers cannot be started
	 */
	public static void main(String[] args) throws Exception {
		Arguments arguments = new Arguments(List.of(args));
		List<Certificate> certificates = arguments.list("certificates", "")
			.stream()
			.map((file) -> new Certificate(Path.of(file)))
			.toList();
		Plant plant = Plant.valueOf(arguments.text("plant", "nothing").toUpperCase(Locale.ROOT));
		Duration timeout = Duration.ofSeconds(arguments.number("timeout", 60));
		arguments.rejectUnread();
		// The first servers leave what the JDK allocates once, such as its own sockets
		new SoakServer(certificates, Plant.NOTHING, timeout).close();
		collectGarbage();
		Map<Sample.Figure, Double> before = process();
		SoakServer soak = new SoakServer(certificates, plant, timeout);
		say(soak.ports());
		BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		for (@Nullable
		String command = commands.readLine(); command != null; command = commands.readLine()) {
			if (command.equals("end")) {
				say(Boolean.toString(soak.close()));
				collectGarbage();
				say(Sample.print(before));
				say(Sample.print(process()));
			}
			else {
				say(soak.obey(command));
			}
		}
		System.exit(0);
	}

	private static void say(String line) {
		System.out.println(line);
		System.out.flush();
	}

}
