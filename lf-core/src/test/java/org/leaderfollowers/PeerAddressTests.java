package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

class PeerAddressTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final PeerAddress address = new PeerAddress("ledger", new InetSocketAddress("127.0.0.1", 7000),
			new ClientOptions(1, new TcpSocketOptions(true, true, 0, 0), Correlation.inOrder(), 1, 0, 0,
					Duration.ofMillis(100).toNanos(), Duration.ofSeconds(10).toNanos(), 0, null, (request) -> false,
					() -> null));

	private final Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");

	@BeforeEach
	void logRecoveries() {
		this.logger.setLevel(Level.INFO);
	}

	@AfterEach
	void restoreLevel() {
		this.logger.setLevel(null);
	}

	private List<String> lines(String text) {
		return this.engine.log().stream().filter((line) -> line.contains(text)).toList();
	}

	@Test
	void aPeerThatFailsAndRecoversAllTheTimeDoesNotFillTheLog() {
		for (int i = 0; i < 5000; i++) {
			this.address.failed("refused", 0);
			this.address.succeeded();
		}
		// One line in 10 seconds.
		assertThat(lines("cannot connect to 127.0.0.1:7000: refused")).hasSizeBetween(1, 50);
		assertThat(lines("is connected to 127.0.0.1:7000 again")).hasSameSizeAs(lines("cannot connect to"));
	}

	@Test
	void failuresInARowAreOneLine() {
		for (int i = 0; i < 5000; i++) {
			this.address.failed("refused", 0);
		}
		assertThat(lines("cannot connect to")).hasSize(1);
		this.address.succeeded();
		assertThat(lines("is connected to 127.0.0.1:7000 again, after 5000 failed attempts")).hasSize(1);
	}

}
