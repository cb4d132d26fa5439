package org.leaderfollowers.sample;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The sample, in a process of its own, and PostgreSQL: each of them ends under load. An
 * answered transaction is in the history, whatever happens, and a transaction of which
 * the client was told that nothing was changed is not. If the sample outlives the fault,
 * it returns to the {@linkplain SampleState state} before.
 */
@Tag("stress")
@Timeout(600)
@EnabledOnOs(OS.LINUX)
@EnabledIf("org.leaderfollowers.sample.PostgresqlServer#isAvailable")
class DatabaseFaultTests {

	private static final int CLIENTS = 16;

	private static final int CONNECTIONS = 4;

	/** How long a transaction waits for a connection. */
	private static final String SHORT_WAIT = "--spring.datasource.hikari.connection-timeout=1000";

	private static final Duration DEADLINE = Duration.ofSeconds(120);

	private static final Pattern TRANSACTION = Pattern.compile("\"COMMITTED\".*\"transaction\":(\\d+)");

	private static PostgresqlServer database;

	private final ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);

	private final AtomicInteger committed = new AtomicInteger();

	private final AtomicInteger refused = new AtomicInteger();

	private final AtomicInteger closed = new AtomicInteger();

	@TempDir
	private Path directory;

	private SampleProcess sample;

	private int port;

	private long before;

	private volatile boolean enough;

	/**
	 * The replies to a client.
	 *
	 * @param transactions the transactions that were answered
	 * @param unknown how many orders may have been carried out, or not
	 */
	private record Replies(Set<Long> transactions, int unknown) {
	}

	@BeforeAll
	static void startDatabase() {
		database = PostgresqlServer.start();
	}

	@AfterAll
	static void stopDatabase() {
		// It stops with this virtual machine.
		database = null;
	}

	private void startSample(String... more) throws Exception {
		List<String> arguments = new ArrayList<>(
				List.of("--spring.profiles.active=postgresql", "--PGHOST=127.0.0.1", "--PGPORT=" + database.port(),
						"--PGDATABASE=postgres", "--PGUSER=" + PostgresqlServer.USER, "--lf.server.port=0",
						// Few connections, which are quickly used up.
						"--spring.datasource.hikari.maximum-pool-size=" + CONNECTIONS,
						"--spring.lifecycle.timeout-per-shutdown-phase=60s"));
		arguments.addAll(SampleState.ARGUMENTS);
		arguments.addAll(List.of(more));
		this.sample = SampleProcess.start(this.directory.resolve("output.txt"), arguments.toArray(String[]::new));
		this.port = this.sample.awaitStarted().awaitPort();
		this.before = number("SELECT COUNT(*) FROM history");
	}

	@AfterEach
	void stopSample() throws Exception {
		this.enough = true;
		this.clients.shutdownNow();
		this.sample.close();
	}

	@Test
	void afterAKillEachAnsweredTransactionIsThere() throws Exception {
		startSample(SHORT_WAIT);
		List<Future<Replies>> replies = startClients();
		awaitAtLeast(this.committed, 200);
		this.sample.kill();
		// Each client had one order under way.
		assertTransactions(replies, CLIENTS);
	}

	@Test
	void onATerminationEachTransactionIsAnswered() throws Exception {
		startSample(SHORT_WAIT);
		List<Future<Replies>> replies = startClients();
		awaitAtLeast(this.committed, 200);
		this.sample.process().destroy();
		assertThat(this.sample.process().waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
		assertTransactions(replies, 0);
		assertThat(Files.readString(this.sample.output())).contains("Graceful shutdown complete");
	}

	@Test
	void theSampleOutlivesItsDatabase() throws Exception {
		startSample(SHORT_WAIT);
		SampleState baseline = warmUp();
		List<Future<Replies>> replies = startClients();
		awaitAtLeast(this.committed, 200);
		database.crash();
		try {
			awaitAtLeast(this.refused, this.refused.get() + CLIENTS);
		}
		finally {
			database.restart();
		}
		assertRecovered(replies, baseline);
	}

	@Test
	void theSampleOutlivesALackOfConnections() throws Exception {
		startSample(SHORT_WAIT);
		SampleState baseline = warmUp();
		List<Future<Replies>> replies = startClients();
		awaitAtLeast(this.committed, 200);
		try (Connection lock = connect(); Statement statement = lock.createStatement()) {
			lock.setAutoCommit(false);
			// The transactions that have a connection wait here; all others have none.
			statement.execute("SELECT * FROM branch WHERE id = 1 FOR UPDATE");
			awaitAtLeast(this.refused, this.refused.get() + CLIENTS);
			assertThat(SampleState.get(this.sample, "health").at("/status").isString()).isTrue();
			lock.rollback();
		}
		assertRecovered(replies, baseline);
	}

	@Test
	void theSampleOutlivesAHungDatabase() throws Exception {
		// Each thread of the back ends has a connection, and none of them ever times out.
		startSample("--lf.pools.backend.threads.max=" + CONNECTIONS, "--lf.health.saturated-after=1s");
		SampleState baseline = warmUp();
		List<Future<Replies>> replies = startClients();
		awaitAtLeast(this.committed, this.committed.get() + 200);
		database.hang();
		try {
			Awaitility.await().atMost(DEADLINE).untilAsserted(this::assertBackEndsAreStarved);
			// The indicator of the database waits for a connection, but not for ever.
			assertThat(SampleState.get(this.sample, "health").at("/status").asString()).isNotEqualTo("UP");
			// The front end needs no database for this.
			try (Socket newcomer = new Socket(InetAddress.getLoopbackAddress(), this.port)) {
				newcomer.setSoTimeout((int) DEADLINE.toMillis());
				assertThat(exchange(newcomer, lines(newcomer), "{}")).contains("INVALID");
			}
		}
		finally {
			database.resume();
		}
		assertRecovered(replies, baseline);
	}

	private void assertBackEndsAreStarved() {
		JsonNode health = SampleState.get(this.sample, "health/lf/pools/backend");
		assertThat(health.at("/status").asString()).isEqualTo("OUT_OF_SERVICE");
		assertThat(health.at("/details/reason").asString()).contains("threads.max is " + CONNECTIONS, "'backEnd");
		JsonNode pool = SampleState.get(this.sample, "leaderfollowers").at("/pools/backend");
		assertThat(pool.at("/roles/PROCESSING").asInt()).isEqualTo(CONNECTIONS);
		assertThat(Duration.parse(pool.at("/leaderless/starvedFor").asString())).isPositive();
	}

	/**
	 * Returns the state that a fault must lead back to. The clients of the test have used
	 * everything before that they use later.
	 */
	private SampleState warmUp() throws Exception {
		List<Future<Replies>> replies = startClients();
		awaitAtLeast(this.committed, 200);
		this.enough = true;
		assertTransactions(replies, 0);
		this.enough = false;
		this.before = number("SELECT COUNT(*) FROM history");
		return SampleState.atRest(this.sample);
	}

	/**
	 * Each client is served again, none was closed, and the sample holds nothing more.
	 */
	private void assertRecovered(List<Future<Replies>> replies, SampleState baseline) throws Exception {
		awaitAtLeast(this.committed, this.committed.get() + 200);
		this.enough = true;
		assertTransactions(replies, 0);
		assertThat(this.closed).as("closed by the server").hasValue(0);
		SampleState.assertReturnedTo(baseline, this.sample);
	}

	private List<Future<Replies>> startClients() {
		List<Future<Replies>> replies = new ArrayList<>();
		for (int i = 0; i < CLIENTS; i++) {
			long account = 4992 + i;
			replies.add(this.clients.submit(() -> deposit(account)));
		}
		return replies;
	}

	/** Deposits money again and again until the server closes the connection. */
	private Replies deposit(long account) throws IOException {
		Set<Long> transactions = new TreeSet<>();
		int unknown = 0;
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), this.port)) {
			socket.setSoTimeout((int) DEADLINE.toMillis());
			BufferedReader lines = lines(socket);
			while (!this.enough) {
				String reply = exchange(socket, lines, Oltp.request(account, 1 + account % 10, 1, 1));
				if (reply == null) {
					this.closed.incrementAndGet();
					break;
				}
				Matcher matcher = TRANSACTION.matcher(reply);
				if (matcher.find()) {
					transactions.add(Long.parseLong(matcher.group(1)));
					this.committed.incrementAndGet();
				}
				else {
					assertThat(reply).containsAnyOf("UNKNOWN", "REJECTED");
					unknown += reply.contains("UNKNOWN") ? 1 : 0;
					this.refused.incrementAndGet();
				}
			}
		}
		return new Replies(transactions, unknown);
	}

	private static BufferedReader lines(Socket socket) throws IOException {
		return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
	}

	private static String exchange(Socket socket, BufferedReader lines, String request) throws IOException {
		try {
			socket.getOutputStream().write((request + "\n").getBytes(StandardCharsets.UTF_8));
			return lines.readLine();
		}
		catch (java.net.SocketException ex) {
			return null;
		}
	}

	private void assertTransactions(List<Future<Replies>> replies, int underWay) throws Exception {
		Set<Long> answered = new TreeSet<>();
		long unknown = 0;
		for (Future<Replies> reply : replies) {
			Replies all = reply.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
			answered.addAll(all.transactions());
			unknown += all.unknown();
		}
		Set<Long> inHistory = new TreeSet<>();
		try (Connection connection = connect();
				Statement statement = connection.createStatement();
				ResultSet result = statement.executeQuery("SELECT id FROM history")) {
			while (result.next()) {
				inHistory.add(result.getLong(1));
			}
		}
		assertThat(answered).hasSizeGreaterThan(100);
		assertThat(inHistory).containsAll(answered);
		assertThat(inHistory.size() - this.before).as("in the history")
			.isBetween((long) answered.size(), answered.size() + unknown + underWay);
		assertThat(number("SELECT SUM(balance) FROM account")).isEqualTo(inHistory.size());
		assertThat(number("SELECT SUM(balance) FROM branch")).isEqualTo(inHistory.size());
	}

	private void awaitAtLeast(AtomicInteger count, int least) {
		Awaitility.await().atMost(DEADLINE).until(() -> count.get() >= least);
	}

	private static Connection connect() throws SQLException {
		return DriverManager.getConnection("jdbc:postgresql://127.0.0.1:%d/postgres".formatted(database.port()),
				PostgresqlServer.USER, "");
	}

	private static long number(String sql) throws SQLException {
		try (Connection connection = connect();
				Statement statement = connection.createStatement();
				ResultSet result = statement.executeQuery(sql)) {
			result.next();
			return result.getLong(1);
		}
	}

}
