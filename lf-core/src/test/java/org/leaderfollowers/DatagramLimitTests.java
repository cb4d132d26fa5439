package org.leaderfollowers;

import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.PoolSettings;

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

	@Test
	void serversLeaveThreadsToEventSources() {
		DatagramShare share = share(4, true);
		share.add(new Served(share, true));
		assertThat(share.total()).isEqualTo(3);
		assertThat(share(4, false).total()).isEqualTo(4);
	}

	@Test
	void aThreadThatIsGivenBackIsOfferedToTheOthers() {
		DatagramShare share = share(4, false);
		Served first = new Served(share, true);
		Served second = new Served(share, true);
		share.add(first);
		share.add(second);
		for (int i = 0; i < 4; i++) {
			assertThat(share.isFull()).isFalse();
			assertThat(share.take()).isTrue();
		}
		assertThat(share.isFull()).isTrue();
		assertThat(share.take()).isFalse();
		share.giveBack();
		assertThat(share.isFull()).isFalse();
		assertThat(List.of(first.offers, second.offers)).containsOnly(1);
		// Nobody waits for another one.
		share.giveBack();
		assertThat(List.of(first.offers, second.offers)).containsOnly(1);
	}

	@Test
	void aServerThatIsAloneIsOfferedNothing() {
		DatagramShare share = share(1, false);
		Served server = new Served(share, true);
		share.add(server);
		assertThat(share.take()).isTrue();
		share.giveBack();
		assertThat(server.offers).isZero();
	}

	@Test
	void threadsOfAClosedServerAreOfferedWhenItsHandlersReturn() {
		DatagramShare share = share(4, false);
		Served server = new Served(share, true);
		Served closed = new Served(share, true);
		Served other = new Served(share, false);
		List.of(server, closed, other).forEach(share::add);
		assertThat(share.most()).isOne();
		share.remove(closed);
		assertThat(server.most).isEqualTo(3);
		share.remove(other);
		assertThat(server.most).isEqualTo(4);
		assertThat(server.offers).isEqualTo(2);
		for (int i = 0; i < 4; i++) {
			assertThat(share.take()).isTrue();
		}
		share.giveBack();
		assertThat(server.offers).isEqualTo(3);
	}

	private static DatagramShare share(int threads, boolean hasSources) {
		return new DatagramShare(new StandInSupply(new PoolSettings(1, threads, false, 1, 0), Clock.SYSTEM),
				hasSources);
	}

	/** A server that notes what it is told. */
	private static final class Served implements Drainable {

		private final DatagramShare share;

		private final boolean servesDatagrams;

		private int offers;

		/** How many threads it could occupy when it was told. */
		private int most;

		Served(DatagramShare share, boolean servesDatagrams) {
			this.share = share;
			this.servesDatagrams = servesDatagrams;
		}

		@Override
		public void beginDrain(long deadlineNanos) {
		}

		@Override
		public boolean close(Duration grace) {
			return true;
		}

		@Override
		public boolean servesDatagrams() {
			return this.servesDatagrams;
		}

		@Override
		public void threadsAdded() {
			this.offers++;
			this.most = this.share.most();
		}

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
