package org.leaderfollowers.process;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import javax.net.ssl.SSLContext;

import org.junit.jupiter.api.Assumptions;
import org.leaderfollowers.DatagramPeer;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Peer;
import org.leaderfollowers.TlsPeer;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A server in a process of its own. After each fault it must return to its baseline:
 * exactly one leader for each handle set, all handles active, descriptors, threads and
 * memory as before, idle processors, and a new client is served.
 *
 * <pre>{@code
 * try (ServerProcess server = ServerProcess.of(Echo.class).jvm("-Xmx32m").start()) {
 *     Baseline before = server.baseline();
 *     server.limit("--nofile=40:");
 *     ...
 *     server.assertReturnedTo(before);
 * }
 * }</pre>
 */
public final class ServerProcess implements AutoCloseable {

	/** Libraries may open files when it pleases them. */
	private static final int DESCRIPTOR_TOLERANCE = 5;

	private static final Duration IDLE_WINDOW = Duration.ofSeconds(1);

	private static final Duration ASK_AGAIN = Duration.ofMillis(100);

	/** A thread that spins takes ten times as much, unless others take the processor. */
	static final Duration IDLE_CPU = Duration.ofMillis(100);

	private final List<String> prefix;

	private final Process process;

	private final Path output;

	private final Socket control;

	private final DataOutputStream questions;

	private final DataInputStream answers;

	private final int port;

	/**
	 * What a process returns to.
	 *
	 * @param state the state of its server
	 * @param descriptors how many descriptors were open
	 */
	public record Baseline(ProcessState state, int descriptors) {
	}

	private ServerProcess(List<String> prefix, Process process, Path output, ServerSocket listener) throws IOException {
		this.prefix = prefix;
		this.process = process;
		this.output = output;
		this.control = accept(listener);
		this.control.setSoTimeout((int) Engine.DEADLINE.toMillis());
		this.questions = new DataOutputStream(this.control.getOutputStream());
		this.answers = new DataInputStream(this.control.getInputStream());
		this.port = this.answers.readInt();
	}

	/** Prepares a process that runs a program. */
	public static Builder of(Class<? extends Program> program) {
		return new Builder(program);
	}

	private Socket accept(ServerSocket listener) throws IOException {
		listener.setSoTimeout((int) Engine.DEADLINE.toMillis());
		try {
			return listener.accept();
		}
		catch (IOException ex) {
			throw new IOException("The process did not start:\n" + output(), ex);
		}
	}

	public int port() {
		return this.port;
	}

	public InetSocketAddress address() {
		return new InetSocketAddress(InetAddress.getLoopbackAddress(), this.port);
	}

	public Process process() {
		return this.process;
	}

	/** Opens a connection without TLS. */
	public Peer connect() {
		return connect(0);
	}

	public Peer connect(int receiveBuffer) {
		try {
			return new Peer(address(), receiveBuffer);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Everything that the process has printed, unless its output is blocked. */
	public String output() {
		try {
			return Files.exists(this.output) ? Files.readString(this.output) : "";
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Asks the {@link Program}, again while its memory is short.
	 * @throws AssertionError if it cannot answer
	 */
	public synchronized Object ask(String question) {
		long end = System.nanoTime() + Engine.DEADLINE.toNanos();
		try {
			this.questions.writeUTF(question);
			int length = this.answers.readInt();
			while (length == ProgramMain.NO_MEMORY && System.nanoTime() - end < 0) {
				Engine.elapse(ASK_AGAIN);
				this.questions.writeUTF(question);
				length = this.answers.readInt();
			}
			if (length < 0) {
				throw new AssertionError("'%s' was not answered:%n%s".formatted(question, output()));
			}
			try (ObjectInputStream input = new ObjectInputStream(
					new ByteArrayInputStream(this.answers.readNBytes(length)))) {
				return input.readObject();
			}
		}
		catch (IOException | ClassNotFoundException ex) {
			throw new AssertionError(
					"'%s' was not answered (alive: %s):%n%s".formatted(question, this.process.isAlive(), output()), ex);
		}
	}

	public ProcessState state() {
		return (ProcessState) ask("state");
	}

	/**
	 * How many descriptors are open. This process counts, which needs none over there.
	 */
	public int descriptors() {
		return count("fd");
	}

	/** How many threads there are, those of the virtual machine included. */
	public int nativeThreads() {
		return count("task");
	}

	private int count(String directory) {
		try (Stream<Path> files = Files.list(Path.of("/proc/%d/%s".formatted(this.process.pid(), directory)))) {
			return (int) files.count();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** The processor time of the process, in units of about 10 ms. */
	public Duration cpu() {
		return this.process.info().totalCpuDuration().orElse(Duration.ZERO);
	}

	/** Sends a signal such as {@code STOP}. */
	public void signal(String name) {
		run("kill", "-" + name, Long.toString(this.process.pid()));
	}

	/**
	 * Changes limits of the running process.
	 * @param limits options of {@code prlimit}, for example {@code --nofile=50:}, which
	 * leaves the hard limit
	 */
	public void limit(String... limits) {
		// By the user of the process: root may not everywhere.
		List<String> command = new ArrayList<>(this.prefix);
		command.addAll(List.of("prlimit", "--pid", Long.toString(this.process.pid())));
		command.addAll(List.of(limits));
		assumeInstalled("prlimit");
		run(command.toArray(String[]::new));
	}

	/** Runs a program, which must succeed. Skips the test if it is not installed. */
	static void run(String... command) {
		assumeInstalled(command[0]);
		try {
			Process program = new ProcessBuilder(command).redirectErrorStream(true).start();
			program.getOutputStream().close();
			String text = new String(program.getInputStream().readAllBytes());
			assertThat(program.waitFor()).as("%s: %s", Arrays.toString(command), text).isZero();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	/** Skips the test if a program is not installed. */
	static void assumeInstalled(String program) {
		boolean installed = Stream.of("/usr/sbin", "/usr/bin", "/sbin", "/bin")
			.anyMatch((directory) -> Files.isExecutable(Path.of(directory, program)));
		Assumptions.assumeTrue(installed, () -> program + " is not installed");
	}

	/**
	 * The state that later faults must lead back to, which a few clients have warmed up.
	 */
	public Baseline baseline() {
		for (int i = 0; i < 20; i++) {
			probe();
		}
		// The first time it costs memory to look.
		state();
		ProcessState[] state = new ProcessState[1];
		Engine.eventually().pollInterval(Duration.ofMillis(100)).untilAsserted(() -> {
			state[0] = state();
			assertThat(state[0].deviations(state[0])).isEmpty();
		});
		return new Baseline(state[0], descriptors());
	}

	/** Waits until nothing deviates from the baseline any more. */
	public void assertReturnedTo(Baseline before) {
		Engine.eventually()
			.pollInterval(Duration.ofMillis(200))
			.untilAsserted(() -> assertThat(deviations(before)).as(this::output).isEmpty());
		Engine.eventually()
			.pollInterval(Duration.ofMillis(200))
			.untilAsserted(() -> assertThat(idleCpu()).as("processor time in %s", IDLE_WINDOW).isLessThan(IDLE_CPU));
		probe();
	}

	/** In what the process is worse than before, at this moment. */
	public List<String> deviations(Baseline before) {
		List<String> deviations = state().deviations(before.state());
		ProcessState.compare(deviations, "descriptors", before.descriptors(), descriptors(), DESCRIPTOR_TOLERANCE);
		return deviations;
	}

	/** The processor time that the process takes in a while in which nothing happens. */
	Duration idleCpu() {
		Duration begun = cpu();
		Engine.elapse(IDLE_WINDOW);
		return cpu().minus(begun);
	}

	/** A new client is served. */
	public void probe() {
		String text = "probe " + ThreadLocalRandom.current().nextInt();
		switch ((String) ask("protocol")) {
			case "UDP" -> {
				try (DatagramPeer peer = new DatagramPeer(address())) {
					assertThat(peer.ask(text)).isEqualTo(text);
				}
			}
			case "TLS" -> {
				try (TlsPeer peer = new TlsPeer(clientContext(), this.port)) {
					assertThat(peer.send(text + "\n").readLine()).isEqualTo(text);
				}
			}
			case "FRAMES" -> {
				byte[] frame = ByteBuffer.allocate(Integer.BYTES + text.length())
					.putInt(text.length())
					.put(text.getBytes(StandardCharsets.ISO_8859_1))
					.array();
				try (Peer peer = connect()) {
					assertThat(peer.send(frame).read(frame.length)).isEqualTo(frame);
				}
			}
			default -> {
				try (Peer peer = connect()) {
					assertThat(peer.send(text + "\n").readLine()).isEqualTo(text);
				}
			}
		}
	}

	/**
	 * The context of clients that trust the server, which answers {@code certificate}
	 * with that of its authority.
	 */
	public SSLContext clientContext() {
		return Certificates.trusting((X509Certificate) ask("certificate"));
	}

	/** Ends the process without a shutdown. */
	@Override
	public void close() {
		try {
			this.process.destroyForcibly().waitFor(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
			this.control.close();
			Files.deleteIfExists(this.output);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/** How a process is started. */
	public static final class Builder {

		private final Class<? extends Program> program;

		private final List<String> prefix = new ArrayList<>();

		/** A small heap of which little is needed, and a quick start. */
		private final List<String> flags = new ArrayList<>(
				List.of("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));

		private final Map<String, String> environment = new LinkedHashMap<>();

		private boolean blocksOutput;

		private Builder(Class<? extends Program> program) {
			this.program = program;
		}

		/** Adds flags of the virtual machine. Later ones override those before. */
		public Builder jvm(String... flags) {
			this.flags.addAll(List.of(flags));
			return this;
		}

		public Builder environment(String name, String value) {
			this.environment.put(name, value);
			return this;
		}

		/** The process gets a pipe for its output that nobody reads. */
		public Builder blockOutput() {
			this.blocksOutput = true;
			return this;
		}

		/**
		 * Runs the process as a user that has no other process, because the number of
		 * threads is limited by user, and not for root. The user may read all files.
		 * Skips the test if the user is not root.
		 */
		public Builder asOtherUser() {
			assumeInstalled("setpriv");
			Assumptions.assumeTrue("root".equals(System.getProperty("user.name")), "Only root can become somebody");
			int user = 50_000 + ThreadLocalRandom.current().nextInt(10_000);
			this.prefix.addAll(List.of("setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups",
					"--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"));
			return this;
		}

		/** Starts the process and waits until its server listens. */
		public ServerProcess start() {
			List<String> command = new ArrayList<>(this.prefix);
			command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
			command.addAll(this.flags);
			try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
				command.addAll(List.of("-cp", System.getProperty("java.class.path"), ProgramMain.class.getName(),
						this.program.getName(), Integer.toString(listener.getLocalPort())));
				Path output = Files.createTempFile("lf-process-", ".txt");
				ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
				builder.environment().putAll(this.environment);
				if (!this.blocksOutput) {
					builder.redirectOutput(output.toFile());
				}
				Process process = builder.start();
				try {
					return new ServerProcess(this.prefix, process, output, listener);
				}
				catch (IOException | RuntimeException ex) {
					process.destroyForcibly();
					throw ex;
				}
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

	}

}
