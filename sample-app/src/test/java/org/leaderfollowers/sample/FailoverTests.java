package org.leaderfollowers.sample;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.awaitility.Awaitility;
import org.h2.tools.Server;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests the tiers in separate processes: a back end is killed under load and started
 * again. Every client gets its answers, and no balance is wrong. The database is in this
 * process, so that it outlives the others.
 */
@Timeout(600)
class FailoverTests {

	private static final String DATABASE = "mem:failover;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=5000";

	private static final int CLIENTS = 8;

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	@TempDir
	private Path directory;

	private final List<Integer> ports = FreePorts.find(2);

	private final int port1 = this.ports.get(0);

	private final int port2 = this.ports.get(1);

	private Server database;

	private SampleProcess backEnd1;

	private SampleProcess backEnd2;

	private SampleProcess frontEnd;

	private final AtomicInteger answers = new AtomicInteger();

	private volatile boolean enough;

	/** The answers that a client got about its account. */
	private record Tally(long account, int committed, int unknown, long lastBalance) {
	}

	@BeforeEach
	void startTiers() throws Exception {
		this.database = Server.createTcpServer("-tcpPort", "0", "-ifNotExists").start();
		// One after the other: the first one creates the tables.
		this.backEnd1 = startBackEnd("backend1", this.port1).awaitStarted();
		this.backEnd2 = startBackEnd("backend2", this.port2);
		this.frontEnd = SampleProcess.start(this.directory.resolve("frontend.txt"), "--spring.profiles.active=frontend",
				"--lf.server.port=0", "--lf.clients.backend1.addresses=localhost:" + this.port1,
				"--lf.clients.backend2.addresses=localhost:" + this.port2);
		this.backEnd2.awaitStarted();
		this.frontEnd.awaitStarted();
	}

	private SampleProcess startBackEnd(String name, int port) throws Exception {
		String url = "jdbc:h2:tcp://localhost:%d/%s".formatted(this.database.getPort(), DATABASE);
		return SampleProcess.start(this.directory.resolve(name + ".txt"), "--spring.profiles.active=" + name,
				"--lf.servers.%s.port=%d".formatted(name, port), "--spring.datasource.url=" + url);
	}

	@AfterEach
	void stopTiers() throws Exception {
		try (SampleProcess first = this.backEnd1;
				SampleProcess second = this.backEnd2;
				SampleProcess third = this.frontEnd) {
			this.enough = true;
		}
		try (Connection connection = connect(); Statement statement = connection.createStatement()) {
			statement.execute("SHUTDOWN");
		}
		this.database.stop();
	}

	@Test
	void everyClientIsAnsweredAndNoBalanceIsWrong() throws Exception {
		int port = this.frontEnd.awaitPort();
		ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
		try {
			List<Future<Tally>> results = new ArrayList<>();
			for (int i = 0; i < CLIENTS; i++) {
				// Each back end is the usual one for half of the clients.
				long account = 4997 + i;
				results.add(clients.submit(() -> deposit(port, account)));
			}
			awaitAnswers(200);
			this.backEnd1.kill();
			// The other back end takes over.
			awaitAnswers(200);
			this.backEnd1 = startBackEnd("backend1", this.port1).awaitStarted();
			awaitAnswers(200);
			this.backEnd2.kill();
			awaitAnswers(200);
			this.enough = true;
			for (Future<Tally> result : results) {
				assertBalance(result.get(120, TimeUnit.SECONDS));
			}
		}
		finally {
			this.enough = true;
			clients.shutdownNow();
		}
		assertThat(number("SELECT SUM(balance) FROM account")).isEqualTo(number("SELECT SUM(delta) FROM history"));
		assertThat(number("SELECT SUM(balance) FROM branch")).isEqualTo(number("SELECT SUM(delta) FROM history"));
	}

	private Tally deposit(int port, long account) {
		int committed = 0;
		int unknown = 0;
		long balance = 0;
		try (TcpTestClient client = Oltp.connect(port)) {
			while (!this.enough) {
				String reply = client.exchange(Oltp.request(account, 3, 1, 1));
				this.answers.incrementAndGet();
				if (reply.contains("COMMITTED")) {
					committed++;
					balance = Long.parseLong(reply.replaceFirst(".*\"balance\":(\\d+),.*", "$1"));
				}
				else if (reply.contains("UNKNOWN")) {
					unknown++;
				}
				else {
					assertThat(reply).contains("REJECTED", "nothing was changed");
				}
			}
		}
		return new Tally(account, committed, unknown, balance);
	}

	private void assertBalance(Tally tally) throws SQLException {
		long balance = number("SELECT balance FROM account WHERE id = " + tally.account());
		assertThat(balance).as(tally.toString())
			.isBetween((long) tally.committed(), (long) tally.committed() + tally.unknown())
			.isGreaterThanOrEqualTo(tally.lastBalance());
		assertThat(number("SELECT COUNT(*) FROM history WHERE account_id = " + tally.account())).isEqualTo(balance);
	}

	private void awaitAnswers(int more) {
		int enough = this.answers.get() + more;
		Awaitility.await().atMost(TIMEOUT).until(() -> this.answers.get() >= enough);
	}

	private long number(String sql) throws SQLException {
		try (Connection connection = connect();
				Statement statement = connection.createStatement();
				ResultSet result = statement.executeQuery(sql)) {
			result.next();
			return result.getLong(1);
		}
	}

	private static Connection connect() throws SQLException {
		return DriverManager.getConnection("jdbc:h2:" + DATABASE, "sa", "");
	}

}
