package org.leaderfollowers.benchmarks.attack;

import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

import org.leaderfollowers.benchmarks.load.Arguments;
import org.leaderfollowers.benchmarks.results.Summary;

/**
 * The same attacks on several servers, while honest clients are served. Each server
 * echoes messages in a process of its own with {@code --vm=-Xmx64m}, and is started anew
 * for each attack of each of {@code --rounds=3}. It has its own defaults and what its
 * documentation recommends; see {@link LeaderFollowersTarget}, {@link NettyTarget},
 * {@link TomcatTarget} and {@code ranch_echo.escript}. {@code --servers=lf,netty,tomcat}
 * can also name {@code ranch} if {@code --ranch} is the directory with its modules.
 * <p>
 * An attack lasts {@code --seconds=10}. It holds up to {@code --connections=2000} from
 * {@code --addresses=100} of the loopback interface, and opens at most
 * {@code --per-second=500}. {@code --attacks=} can name some of them only. Half of the
 * {@code --honest=8} clients keep their connections and are there before the attack; the
 * others open a new connection after five batches of requests. A request fails if its
 * connection is rejected or closed, or if it takes longer than {@code --timeout=10}
 * seconds. Unfinished handshakes attack the port with TLS, and all others the port
 * without; the honest clients use the same port.
 * <p>
 * When the attackers have gone, the server has {@code --recovery=15} seconds to close
 * their connections. Then a new client must be served ("alive"). Descriptors are counted
 * before the attack and after this time. Memory is the most that was resident. Samples go
 * to the file {@code --output=target/benchmarks/attacks.csv}; the medians of the rounds
 * are printed as a table of AsciiDoc.
 */
public final class AttackComparison {

	private static final String HEADER = "server,attack,round,served,failed,wrong,p99_ms,resident_mb,descriptors_before,descriptors_after,attackers_opened,attackers_closed,alive";

	private static final Duration PAUSE = Duration.ofMillis(20);

	private final PrintStream out;

	private final List<Target> targets;

	private final List<Attack> attacks;

	private final List<String> vm;

	private final String ranch;

	private final int rounds;

	private final double seconds;

	private final int connections;

	private final int perSecond;

	private final int addresses;

	private final int honest;

	private final Duration timeout;

	private final Duration recovery;

	private final Path output;

	private final List<Outcome> outcomes = new ArrayList<>();

	private AttackComparison(Arguments arguments, PrintStream out) {
		this.out = out;
		this.targets = arguments.list("servers", "lf,netty,tomcat")
			.stream()
			.map((name) -> Target.valueOf(name.toUpperCase(Locale.ROOT)))
			.toList();
		this.attacks = arguments
			.list("attacks", String.join(",", Stream.of(Attack.values()).map(Attack::name).toList()))
			.stream()
			.map((name) -> Attack.valueOf(name.toUpperCase(Locale.ROOT)))
			.toList();
		this.vm = arguments.list("vm", "-Xmx64m");
		this.ranch = arguments.text("ranch", "");
		this.rounds = arguments.number("rounds", 3);
		this.seconds = arguments.decimal("seconds", 10);
		this.connections = arguments.number("connections", 2000);
		this.perSecond = arguments.number("per-second", 500);
		this.addresses = arguments.number("addresses", 100);
		this.honest = arguments.number("honest", 8);
		this.timeout = Duration.ofSeconds(arguments.number("timeout", 10));
		this.recovery = Duration.ofSeconds(arguments.number("recovery", 15));
		this.output = Path.of(arguments.text("output", "target/benchmarks/attacks.csv"));
		arguments.rejectUnread();
	}

	/**
	 * The result of one attack on one server.
	 *
	 * @param target the server
	 * @param attack the attack
	 * @param round the number of the round, from 1
	 * @param served how many honest requests were answered in the attack
	 * @param failed how many were not
	 * @param wrong how many replies were not the next one
	 * @param p99Ms latency of those that were answered
	 * @param residentMb the most memory of the process, or -1 if it has ended
	 * @param before its descriptors before the attack
	 * @param after its descriptors afterwards, or -1 if it has ended
	 * @param opened how many connections the attackers have opened
	 * @param closed how many of them the server has closed
	 * @param alive whether a new client was served afterwards
	 */
	record Outcome(Target target, Attack attack, int round, long served, long failed, long wrong, double p99Ms,
			double residentMb, long before, long after, long opened, long closed, boolean alive) {

		String line() {
			return String.format(Locale.ROOT, "%s,%s,%d,%d,%d,%d,%.1f,%.0f,%d,%d,%d,%d,%s", this.target.id(),
					this.attack.name().toLowerCase(Locale.ROOT), this.round, this.served, this.failed, this.wrong,
					this.p99Ms, this.residentMb, this.before, this.after, this.opened, this.closed, this.alive);
		}

	}

	/**
	 * Compares and prints.
	 * @param args see the class
	 * @throws Exception if a server cannot be started
	 */
	public static void main(String[] args) throws Exception {
		run(List.of(args), new PrintStream(System.out, true, StandardCharsets.UTF_8));
		System.exit(0);
	}

	static List<Outcome> run(List<String> args, PrintStream out) throws IOException, InterruptedException {
		AttackComparison comparison = new AttackComparison(new Arguments(args), out);
		comparison.run();
		return comparison.outcomes;
	}

	private void run() throws IOException, InterruptedException {
		Path directory = Files.createTempDirectory("attacks");
		Certificate certificate = Certificate.create(directory.resolve("certificate.p12"));
		List<String> lines = new ArrayList<>(List.of(HEADER));
		Files.createDirectories(this.output.toAbsolutePath().getParent());
		this.out.println(HEADER);
		for (int round = 1; round <= this.rounds; round++) {
			for (Attack attack : this.attacks) {
				for (Target target : this.targets) {
					Outcome outcome = measure(target, attack, round, certificate);
					this.outcomes.add(outcome);
					lines.add(outcome.line());
					this.out.println(outcome.line());
					Files.write(this.output, lines);
				}
			}
		}
		print();
	}

	private Outcome measure(Target target, Attack attack, int round, Certificate certificate)
			throws IOException, InterruptedException {
		try (Target.Running server = target.start(this.vm, this.ranch, certificate)) {
			boolean tls = attack == Attack.HANDSHAKES;
			InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(),
					tls ? server.tlsPort() : server.plainPort());
			Path process = Path.of("/proc/" + server.process().pid());
			warmUp(target, address, tls);
			long before = descriptors(process);
			Tally tally = new Tally();
			List<HonestClient> clients = new ArrayList<>();
			for (int i = 0; i < this.honest; i++) {
				clients.add(client(target, address, tls, (i % 2 == 0) ? 0 : 5, tally));
			}
			long opened;
			long closed;
			Attacker attacker = new Attacker(new Attacker.Options(attack, address, target.wire(), this.connections,
					this.perSecond, this.addresses));
			try (attacker) {
				TimeUnit.MILLISECONDS.sleep((long) (1000 * this.seconds));
				clients.forEach(HonestClient::stop);
				clients.forEach(HonestClient::close);
			}
			opened = attacker.opened();
			closed = attacker.closedByServer();
			for (String failure = tally.nextFailure(); failure != null; failure = tally.nextFailure()) {
				this.out.println("# " + target.id() + ", " + failure);
			}
			awaitDescriptors(process, before);
			boolean alive = isServed(target, address, tls);
			boolean exists = server.process().isAlive();
			return new Outcome(target, attack, round, tally.served(), tally.failed(), tally.wrong(),
					tally.drainLatencyNs().getValueAtPercentile(99) / 1e6, exists ? residentMb(process) : -1, before,
					exists ? descriptors(process) : -1, opened, closed, alive);
		}
	}

	private HonestClient client(Target target, InetSocketAddress address, boolean tls, int perConnection, Tally tally) {
		return new HonestClient(new HonestClient.Options("honest", address, InetAddress.getLoopbackAddress(),
				target.wire(), tls ? Certificate.trustAll() : null, perConnection, PAUSE, this.timeout), tally);
	}

	/** The first requests load classes; they are no part of the attack. */
	private void warmUp(Target target, InetSocketAddress address, boolean tls)
			throws IOException, InterruptedException {
		if (!isServed(target, address, tls)) {
			throw new IOException(target.id() + " does not serve");
		}
		TimeUnit.MILLISECONDS.sleep(500);
	}

	/** Whether a new client is served within the timeout of a request. */
	private boolean isServed(Target target, InetSocketAddress address, boolean tls) throws InterruptedException {
		Tally tally = new Tally();
		long deadline = System.nanoTime() + 2 * this.timeout.toNanos();
		try (HonestClient client = client(target, address, tls, 1, tally)) {
			while (tally.served() == 0 && System.nanoTime() - deadline < 0) {
				TimeUnit.MILLISECONDS.sleep(20);
			}
		}
		return tally.served() > 0;
	}

	private void awaitDescriptors(Path process, long before) throws InterruptedException {
		long deadline = System.nanoTime() + this.recovery.toNanos();
		while (descriptors(process) > before && System.nanoTime() - deadline < 0) {
			TimeUnit.MILLISECONDS.sleep(100);
		}
	}

	private static long descriptors(Path process) {
		try (Stream<Path> links = Files.list(process.resolve("fd"))) {
			return links.count();
		}
		catch (IOException ex) {
			return -1;
		}
	}

	private static double residentMb(Path process) throws IOException {
		return Files.readAllLines(process.resolve("status"))
			.stream()
			.filter((line) -> line.startsWith("VmHWM:"))
			.mapToDouble((line) -> Long.parseLong(line.replaceAll("\\D", "")) * 1024 / 1e6)
			.findAny()
			.orElse(-1);
	}

	private void print() {
		this.out.println("|===");
		this.out.println(
				"| attack | server | honest requests served | not served | p99 | resident memory | descriptors left | alive");
		for (Attack attack : this.attacks) {
			for (Target target : this.targets) {
				List<Outcome> rows = this.outcomes.stream()
					.filter((outcome) -> outcome.attack() == attack && outcome.target() == target)
					.toList();
				this.out.printf(Locale.ROOT, "%n| %s | %s | %,.0f | %,.0f | %,.0f ms | %,.0f MB | %,.0f | %d of %d%n",
						attack.title(), target.id(), median(rows, Outcome::served), median(rows, Outcome::failed),
						median(rows, Outcome::p99Ms), median(rows, Outcome::residentMb),
						median(rows, (outcome) -> Math.max(0, outcome.after() - outcome.before())),
						rows.stream().filter(Outcome::alive).count(), rows.size());
			}
		}
		this.out.println("|===");
	}

	private static double median(List<Outcome> rows, ToDoubleFunction<Outcome> figure) {
		return Summary.of(Arrays.stream(rows.stream().mapToDouble(figure).toArray()).boxed().toList())
			.orElseThrow()
			.median();
	}

}
