package org.leaderfollowers.sample;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

import javax.sql.DataSource;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.beans.factory.annotation.Autowired;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests a transaction that gets no lock, in a database with a short lock timeout. */
@Timeout(120)
abstract class ContentionTests {

	@Autowired
	private DataSource dataSource;

	@LocalLfServerPort
	private int port;

	@Test
	void rejectsAfterLastAttemptAndLivesOn() throws Exception {
		try (TcpTestClient client = Oltp.connect(this.port); TcpTestClient other = Oltp.connect(this.port)) {
			try (Connection lock = lock("branch", 2)) {
				assertThat(client.exchange(Oltp.request(10_042, 13, 2, 5)))
					.isEqualTo(Oltp.rejected("Too many others move the same balances; nothing was changed, try again"));
				// Nothing remains locked or changed.
				assertThat(other.exchange(Oltp.request(10_042, 13, 1, 6))).contains("COMMITTED", "\"balance\":6,");
				lock.rollback();
			}
			assertThat(client.exchange(Oltp.request(10_042, 13, 2, 5))).contains("COMMITTED", "\"balance\":11,");
		}
	}

	@Test
	void lockedRowDoesNotStopTheOthers() throws Exception {
		try (TcpTestClient client = Oltp.connect(this.port); TcpTestClient other = Oltp.connect(this.port)) {
			try (Connection lock = lock("account", 1)) {
				client.send(Oltp.request(1, 1, 1, 5));
				assertThat(other.exchange(Oltp.request(2, 2, 1, 6))).contains("COMMITTED");
				lock.rollback();
			}
			String reply = client.receive();
			if (reply.contains("Too many others")) {
				// On a busy machine, all attempts may happen while the lock is held.
				reply = client.exchange(Oltp.request(1, 1, 1, 5));
			}
			assertThat(reply).contains("\"account\":1,");
		}
	}

	private Connection lock(String table, long id) throws SQLException {
		Connection connection = this.dataSource.getConnection();
		connection.setAutoCommit(false);
		try (Statement statement = connection.createStatement()) {
			statement.execute("SELECT * FROM " + table + " WHERE id = " + id + " FOR UPDATE");
		}
		return connection;
	}

}
