package org.leaderfollowers.sample;

import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.awaitility.Awaitility;
import org.h2.tools.Server;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests that an operator can stop the sample by a signal to its process while requests
 * are being processed. The database is in this process, so that the test can block the
 * requests there.
 */
@Timeout(900)
@DisabledOnOs(OS.WINDOWS)
class ShutdownTests {

	private static final int EXIT_AFTER_SIGTERM = 128 + 15;

	private static final int MAX_THREADS = 32;

	private static final int BURST = 10;

	@TempDir
	private Path directory;

	private Server database;

	private SampleProcess sample;

	private Process process;

	@BeforeEach
	void startProcess() throws Exception {
		this.database = Server.createTcpServer("-tcpPort", "0", "-ifNotExists").start();
		String url = "jdbc:h2:tcp://localhost:%d/mem:shutdown;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000"
			.formatted(this.database.getPort());
		this.sample = SampleProcess.start(output(), "--lf.server.port=0", "--spring.datasource.url=" + url,
				// Long enough for this machine to open that many connections at once.
				"--spring.datasource.hikari.connection-timeout=60000", "--lf.shutdown.close-rate=1000/s",
				// The first order may come long before the front end has reached a back
				// end.
				"--sample.front-end.patience=60s",
				// All transactions update the same row, one after the other.
				"--spring.lifecycle.timeout-per-shutdown-phase=120s");
		this.process = this.sample.process();
	}

	@AfterEach
	void stopProcess() throws Exception {
		this.sample.kill();
		try (Connection connection = connect(); Statement statement = connection.createStatement()) {
			statement.execute("SHUTDOWN");
		}
		this.database.stop();
	}

	@Test
	void answersWhatIsBeingProcessed() throws Exception {
		int clients = 20;
		terminateWhileProcessing(clients, clients, (port, idle) -> {
			// New clients are refused, and clients that do not wait for a reply are
			// disconnected.
			Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertRefused(port));
			assertThat(idle).isClosedByServer();
		});
	}

	@Test
	void answersWhatWaitsForAThread() throws Exception {
		terminateWhileProcessing(50, MAX_THREADS,
				(port, idle) -> Awaitility.await()
					.atMost(Duration.ofSeconds(30))
					.until(() -> Files.readString(output()).contains("Draining the front end")));
	}

	private void terminateWhileProcessing(int clients, int processing, WhileDraining whileDraining) throws Exception {
		int port = this.sample.awaitPort();
		List<TcpTestClient> waiting = new ArrayList<>();
		try (TcpTestClient idle = Oltp.connect(port)) {
			try (Connection lock = connect(); Statement statement = lock.createStatement()) {
				lock.setAutoCommit(false);
				statement.execute("SELECT * FROM branch WHERE id = 1 FOR UPDATE");
				for (int i = 1; i <= clients; i++) {
					TcpTestClient client = Oltp.connect(port);
					waiting.add(client);
					String request = Oltp.request(i, 1 + i % 10, 1, 1);
					client.send(Collections.nCopies(BURST, request).toArray(String[]::new));
				}
				Awaitility.await()
					.atMost(Duration.ofSeconds(120))
					.untilAsserted(() -> assertThat(blockedTransactions()).as(Files.readString(output()))
						.isEqualTo(processing));
				this.process.destroy();
				whileDraining.check(port, idle);
				assertThat(this.process.isAlive()).isTrue();
				lock.rollback();
			}
			for (int i = 1; i <= clients; i++) {
				TcpTestClient client = waiting.get(i - 1);
				for (int balance = 1; balance <= BURST; balance++) {
					assertThat(client.receive()).contains("COMMITTED",
							"\"account\":%d,\"balance\":%d,".formatted(i, balance));
				}
				assertThat(client).isClosedByServer();
			}
		}
		finally {
			for (TcpTestClient client : waiting) {
				client.close();
			}
		}
		assertThat(this.process.waitFor(120, TimeUnit.SECONDS)).isTrue();
		assertThat(this.process.exitValue()).isEqualTo(EXIT_AFTER_SIGTERM);
		assertThat(number("SELECT balance FROM branch WHERE id = 1")).isEqualTo(clients * BURST);
		assertThat(Files.readString(output())).contains("Graceful shutdown complete").doesNotContain("ERROR");
		// The test uses all threads of the pool, which is logged as a warning.
		assertThat(Files.readAllLines(output())).filteredOn((line) -> line.contains("WARN"))
			.allMatch((line) -> line.contains("had no thread left"));
	}

	private void assertRefused(int port) {
		assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> Oltp.connect(port).close())
			.withCauseInstanceOf(ConnectException.class);
	}

	private long blockedTransactions() throws SQLException {
		return number("SELECT COUNT(*) FROM INFORMATION_SCHEMA.SESSIONS WHERE BLOCKER_ID IS NOT NULL");
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
		return DriverManager.getConnection("jdbc:h2:mem:shutdown;DB_CLOSE_DELAY=-1", "sa", "");
	}

	private Path output() {
		return this.directory.resolve("output.txt");
	}

	@FunctionalInterface
	private interface WhileDraining {

		void check(int port, TcpTestClient idle) throws Exception;

	}

}
