package org.leaderfollowers;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/** How many replies one address gets. */
class ReplyRateTests {

	private final TestClock clock = new TestClock();

	private static InetSocketAddress address(int index) {
		try {
			return new InetSocketAddress(
					InetAddress.getByAddress(new byte[] { 10, 0, (byte) (index >> 8), (byte) index }), 5000);
		}
		catch (UnknownHostException ex) {
			throw new AssertionError(ex);
		}
	}

	private static int accepted(ReplyRate rate, InetSocketAddress address, int attempts) {
		int accepted = 0;
		for (int i = 0; i < attempts; i++) {
			accepted += rate.tryAcquire(address) ? 1 : 0;
		}
		return accepted;
	}

	@Test
	void anAddressGetsTenSecondsWorthAtOnceAndTheRateAfterwards() {
		ReplyRate rate = new ReplyRate(100, this.clock);
		assertThat(accepted(rate, address(1), 5000)).isEqualTo(1000);
		this.clock.advance(Duration.ofSeconds(1));
		assertThat(accepted(rate, address(1), 5000)).isEqualTo(100);
		this.clock.advance(Duration.ofHours(1));
		assertThat(accepted(rate, address(1), 5000)).isEqualTo(1000);
	}

	@Test
	void otherAddressesAndPortsKeepTheirLimits() {
		ReplyRate rate = new ReplyRate(1, this.clock);
		assertThat(accepted(rate, address(0), 100)).isEqualTo(10);
		int served = 0;
		for (int i = 1; i <= 1000; i++) {
			served += rate.tryAcquire(address(i)) ? 1 : 0;
			served += rate.tryAcquire(new InetSocketAddress(address(0).getAddress(), i)) ? 1 : 0;
		}
		// Addresses with the same hash as the first one share its limit. About one of
		// 4096 has it.
		assertThat(served).isGreaterThan(1950);
	}

	/**
	 * Otherwise, a host could use up the limit of another one. The hash of the JDK adds
	 * the parts of an address, so that one part can make up for another.
	 */
	@ParameterizedTest
	@CsvSource({ "10.0.0.5, 5000, 10.0.0.6, 4969", "2001:db8::1:0:2, 5000, 2001:db8::2:0:1, 5000",
			"2001:db8::5, 5000, 2001:db8::6, 4969", "10.0.0.5, 5000, 10.0.0.5, 5001" })
	void noAddressAlwaysSharesTheLimitOfAnotherOne(String first, int port, String second, int otherPort)
			throws UnknownHostException {
		InetSocketAddress one = new InetSocketAddress(InetAddress.getByName(first), port);
		InetSocketAddress other = new InetSocketAddress(InetAddress.getByName(second), otherPort);
		int shared = 0;
		for (int i = 0; i < 200; i++) {
			ReplyRate rate = new ReplyRate(1, this.clock);
			assertThat(accepted(rate, one, 100)).isEqualTo(10);
			shared += rate.tryAcquire(other) ? 0 : 1;
		}
		// Each seed lets them share one with a probability of 1/4096.
		assertThat(shared).isLessThan(10);
	}

	@Test
	void threadsShareTheLimitOfAnAddress() {
		ReplyRate rate = new ReplyRate(1000, this.clock);
		AtomicInteger accepted = new AtomicInteger();
		List<CompletableFuture<Void>> threads = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			threads.add(CompletableFuture.runAsync(() -> accepted.addAndGet(accepted(rate, address(1), 5000))));
		}
		threads.forEach(CompletableFuture::join);
		assertThat(accepted).hasValue(10_000);
	}

}
