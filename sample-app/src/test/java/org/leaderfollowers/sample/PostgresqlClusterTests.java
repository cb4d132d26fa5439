package org.leaderfollowers.sample;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Two front ends and two back ends in separate processes share a PostgreSQL server. A
 * till asks a card reader of the other front end, and one front end is killed.
 */
@Timeout(1200)
class PostgresqlClusterTests {

	@TempDir
	private Path directory;

	private final List<SampleProcess> processes = new ArrayList<>();

	@AfterEach
	void stop() throws InterruptedException {
		for (SampleProcess process : this.processes) {
			process.close();
		}
	}

	private SampleProcess start(String name, String... arguments) throws Exception {
		SampleProcess process = SampleProcess.start(this.directory.resolve(name + ".txt"), arguments);
		this.processes.add(process);
		return process;
	}

	@Test
	void frontEndsAndBackEndsOfSeveralProcesses() throws Exception {
		assumeTrue(PostgresqlServer.isAvailable(), "no PostgreSQL for this system");
		int database = PostgresqlServer.start().port();
		List<Integer> free = FreePorts.find(4);
		List<Integer> ports = free.subList(0, 2);
		for (int i = 0; i < 2; i++) {
			String name = "backend" + (i + 1);
			// One after the other: the first one creates the tables.
			start(name, "--spring.profiles.active=postgresql," + name,
					"--lf.servers.%s.port=%d".formatted(name, ports.get(i)), "--PGHOST=127.0.0.1",
					"--PGPORT=" + database, "--PGDATABASE=postgres", "--PGUSER=" + PostgresqlServer.USER)
				.awaitStarted();
		}
		List<Integer> members = free.subList(2, 4);
		List<SampleProcess> frontEnds = new ArrayList<>();
		for (int i = 0; i < 2; i++) {
			frontEnds.add(start("frontend" + i, "--spring.profiles.active=frontend,cluster", "--lf.server.port=0",
					"--sample.front-end.reader-timeout=60s",
					// A busy machine may take long to ask the other one.
					"--lf.sessions.timeout=60s", "--lf.cluster.lease=60s",
					"--lf.cluster.hazelcast.port=" + members.get(i),
					"--lf.cluster.hazelcast.members=127.0.0.1:%d,127.0.0.1:%d".formatted(members.get(0),
							members.get(1)),
					"--lf.clients.backend1.addresses=localhost:" + ports.get(0),
					"--lf.clients.backend2.addresses=localhost:" + ports.get(1)));
		}
		frontEnds.forEach(SampleProcess::awaitStarted);

		// Either back end, from either front end: the balances are the same.
		for (long account : new long[] { 1, 10_000 }) {
			for (int i = 0; i < 2; i++) {
				try (TcpTestClient teller = Oltp.connect(frontEnds.get(i).awaitPort())) {
					assertThat(teller.exchange(Oltp.request(account, 3, 1, 100)))
						.contains("\"status\":\"COMMITTED\",\"account\":%d,\"balance\":%d,".formatted(account,
								100 * (i + 1)));
				}
			}
		}

		try (TcpTestClient till = Oltp.connect(frontEnds.get(0).awaitPort("readers"))) {
			try (TcpTestClient reader = Oltp.connect(frontEnds.get(1).awaitPort("readers"))) {
				assertThat(reader.exchange("LOGIN reader-7")).isEqualTo("WELCOME reader-7");
				// The front ends may have started without each other.
				Awaitility.await()
					.atMost(Duration.ofMinutes(5))
					.ignoreExceptions()
					.until(() -> SampleState.get(frontEnds.get(0), "lfsessions/reader-7")
						.at("/name")
						.asString()
						.equals("reader-7"));
				till.send("ASK reader-7 Pay 25.00?");
				assertThat(reader.receive()).isEqualTo("Pay 25.00?");
				reader.send("APPROVED");
				assertThat(till.receive()).isEqualTo("APPROVED");
				frontEnds.get(1).kill();
			}
			try (TcpTestClient reader = Oltp.connect(frontEnds.get(0).awaitPort("readers"))) {
				assertThat(reader.exchange("LOGIN reader-7")).isEqualTo("WELCOME reader-7");
				till.send("ASK reader-7 Pay 30.00?");
				assertThat(reader.receive()).isEqualTo("Pay 30.00?");
				reader.send("DECLINED");
				assertThat(till.receive()).isEqualTo("DECLINED");
			}
			// The front end sees the end of the connection at some time.
			Awaitility.await()
				.atMost(60, TimeUnit.SECONDS)
				.until(() -> till.exchange("ASK reader-7 Pay 35.00?").startsWith("FAILED No client has logged in"));
			assertThat(till.exchange("ASK reader-7")).startsWith("INVALID ");
			assertThat(till.exchange("hello")).startsWith("INVALID ");
		}
	}

}
