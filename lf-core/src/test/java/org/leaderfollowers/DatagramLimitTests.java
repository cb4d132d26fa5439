package org.leaderfollowers;

import java.time.Duration;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The limits of a UDP server: how many datagrams are under way, and how many threads
 * their handlers occupy.
 */
class DatagramLimitTests {

	private static final int LIMIT = 8;

	@RegisterExtension
	final Engine engine = new Engine();

	/** If reading resumed for each datagram, each would stop it again. */
	@Test
	void readingResumesWhenMoreThanAQuarterOfTheLimitIsFree() {
		DatagramsUnderWay underWay = underWay();
		fill(underWay);
		assertThat(underWay.finished()).isFalse();
		assertThat(underWay.finished()).isFalse();
		assertThat(underWay.hasRoom()).isFalse();
		assertThat(underWay.finished()).isTrue();
		assertThat(underWay.hasRoom()).isTrue();
	}

	@Test
	void theWholeLimitIsUsedAgainAfterReadingHasResumed() {
		DatagramsUnderWay underWay = underWay();
		fill(underWay);
		for (int i = 0; i < LIMIT; i++) {
			underWay.finished();
		}
		fill(underWay);
	}

	/** The handlers that have not returned may never do so. */
	@Test
	void readingResumesAsSoonAsAHandlerLeavesItsThread() {
		DatagramsUnderWay underWay = new DatagramsUnderWay(LIMIT, this.engine.pool(2, 4).datagramShare,
				new DatagramCounters(), new ServerWarnings("test", "handler", "pool"));
		for (int i = 0; i < 4; i++) {
			assertThat(underWay.takeThread()).isTrue();
			underWay.begin();
		}
		assertThat(underWay.takeThread()).isFalse();
		assertThat(underWay.hasRoom()).isFalse();
		assertThat(underWay.handlerReturned(true)).isTrue();
		assertThat(underWay.hasRoom()).isTrue();
		assertThat(underWay.takeThread()).isTrue();
	}

	/** They may never return, so the number may never fall to three quarters. */
	@Test
	void readingResumesBelowTheLimitIfTooManyHandlersRun() {
		DatagramsUnderWay underWay = underWay();
		for (int i = 0; i < LIMIT; i++) {
			assertThat(underWay.takeThread()).isTrue();
			underWay.begin();
		}
		assertThat(underWay.handlerReturned(false)).isFalse();
		assertThat(underWay.hasRoom()).isFalse();
		assertThat(underWay.finished()).isTrue();
		assertThat(underWay.hasRoom()).isTrue();
	}

	/** Otherwise it would count as under way for ever, and no drain would end. */
	@Test
	void datagramThatReachesTheLimitIsHandledAlthoughThisCannotBeReported() {
		// Without counters, each report fails.
		DatagramsUnderWay underWay = new DatagramsUnderWay(1, this.engine.pool(2, 64).datagramShare, null, null);
		assertThat(underWay.takeThread()).isTrue();
		underWay.begin();
		assertThat(underWay.count()).isOne();
		assertThat(underWay.hasRoom()).isFalse();
		assertThat(underWay.handlerReturned(true)).isTrue();
		assertThat(underWay.count()).isZero();
		assertThat(underWay.hasRoom()).isTrue();
	}

	@Test
	void aServerThatEndsLeavesItsThreadsToTheOthers() {
		LeaderFollowersPool pool = this.engine.pool(2, 8);
		startUdp(pool);
		TcpServer tcp = this.engine.lines(pool, Connection::send);
		assertThat(pool.datagramShare.most()).isEqualTo(6);
		UdpServer second = startUdp(pool);
		assertThat(pool.datagramShare.most()).isEqualTo(3);
		assertThat(tcp.close(Duration.ZERO)).isTrue();
		assertThat(pool.datagramShare.most()).isEqualTo(4);
		assertThat(second.close(Engine.DEADLINE)).isTrue();
		assertThat(pool.datagramShare.most()).isEqualTo(8);
	}

	private UdpServer startUdp(LeaderFollowersPool pool) {
		return this.engine.start(UdpServer.builder(pool).handler((datagram, message) -> datagram.send(message)));
	}

	private DatagramsUnderWay underWay() {
		return new DatagramsUnderWay(LIMIT, this.engine.pool(2, 64).datagramShare, new DatagramCounters(),
				new ServerWarnings("test", "handler", "pool"));
	}

	/** Reads until reading stops. The handlers return, and their replies follow later. */
	private static void fill(DatagramsUnderWay underWay) {
		while (underWay.count() < LIMIT) {
			assertThat(underWay.hasRoom()).isTrue();
			assertThat(underWay.takeThread()).isTrue();
			underWay.begin();
			underWay.handlerReturned(false);
		}
		assertThat(underWay.hasRoom()).isFalse();
	}

}
