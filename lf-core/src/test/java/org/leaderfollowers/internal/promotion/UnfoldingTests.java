package org.leaderfollowers.internal.promotion;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * How many handle sets are wanted, and how handles are dealt to them.
 */
class UnfoldingTests {

	@ParameterizedTest
	@CsvSource({
			// One leader suffices: it waits for events, or nothing is left for another
			// one.
			"1, 0.10, 0.10, 1.90, 1", "1, 0.80, 0.80, 1.20, 1", "1, 1.00, 1.02, 0.10, 1", "1, 1.00, 0.50, 0.20, 1",
			// One is saturated, and there are processors.
			"1, 0.90, 0.90, 0.30, 2", "1, 1.00, 1.00, 63.00, 2", "2, 2.00, 2.00, 1.90, 3", "2, 2.00, 2.00, 2.00, 4",
			"4, 3.50, 3.50, 60.00, 8",
			// Not if some leader waits.
			"2, 1.60, 1.60, 2.40, 2", "4, 3.20, 3.20, 5.00, 4",
			// As many as are busy are kept, and not more.
			"2, 1.20, 1.10, 0.00, 2", "2, 1.20, 1.00, 0.00, 1", "4, 3.50, 2.90, 0.00, 3", "8, 8.00, 0.10, 0.00, 1",
			// Leaders that wait fold, whatever uses the processors.
			"2, 0.60, 1.50, 0.40, 1", "4, 1.00, 4.00, 0.00, 2" })
	void asManySetsAreWantedAsProcessorsAreKeptBusy(int inUse, double leaders, double processors, double spare,
			int wanted) {
		assertThat(Math.max(1, Unfolding.wanted(inUse, leaders, processors, spare))).isEqualTo(wanted);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', value = { "cpu  672264 92 250494 225324 1331 0 108011 18721 0 0 | 2266550000000",
			"cpu 1 2 3 4 5 6 7 | 90000000", "cpu 1 2 3 4 5 | -1", "cpu 1 2 3 x 5 6 7 | -1", "cpu | -1" })
	void idleTimeIsThatOfAllProcessors(String line, long nanos) {
		byte[] bytes = line.getBytes(StandardCharsets.US_ASCII);
		assertThat(SystemProcessorTime.idleNanos(bytes, bytes.length)).isEqualTo(nanos);
	}

	@Test
	@EnabledOnOs(OS.LINUX)
	void theSystemTellsWhatIsIdle() {
		long before = ProcessorTime.SYSTEM.idleNanos();
		assertThat(before).isPositive();
		// A part of it, the time that processors wait for a disk, may decrease.
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(ProcessorTime.SYSTEM.idleNanos()).isGreaterThanOrEqualTo(before));
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 2, 3, 5, 8, 64 })
	void handlesAreDealtEvenlyWhateverRunOfThemIsOpen(int sets) {
		Deal deal = new Deal(sets);
		for (int run = 0; run < 1000; run++) {
			int[] dealt = new int[sets];
			for (int i = 0; i < 10 * sets; i++) {
				dealt[deal.indexOf(deal.nextNumber())]++;
			}
			assertThat(Arrays.stream(dealt)).allMatch((handles) -> handles >= 7 && handles <= 13);
		}
	}

	@Test
	void eachSetIsSplitWhenTheirNumberDoubles() {
		for (int sets = 1; sets <= 4; sets *= 2) {
			Deal deal = new Deal(sets);
			for (int number = 0; number < 1 << 16; number++) {
				deal.use(sets);
				int before = deal.indexOf((short) number);
				deal.use(2 * sets);
				assertThat(deal.indexOf((short) number) / 2).isEqualTo(before);
			}
		}
	}

}
