package org.leaderfollowers.internal.promotion;

import java.util.Arrays;

import org.junit.jupiter.api.Test;
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
			// One leader suffices, busy or not; an echo keeps it busy, and no more.
			"1, 0.10, 0.10, 1", "1, 0.95, 1.02, 1", "1, 1.00, 1.04, 1",
			// Threads that share use more.
			"1, 0.80, 1.06, 2", "1, 0.90, 1.20, 2", "1, 1.00, 3.70, 4", "2, 2.00, 2.06, 3",
			// Not if the leader waits: handlers that block use the processors.
			"1, 0.50, 1.90, 1", "2, 1.20, 4.00, 2",
			// As many as are busy are kept, and not more.
			"2, 1.20, 1.10, 2", "2, 1.20, 1.00, 1", "4, 3.50, 2.90, 3", "8, 8.00, 0.10, 1",
			// Leaders that wait fold, whatever uses the processors.
			"2, 0.60, 1.50, 1", "4, 1.00, 4.00, 2" })
	void asManySetsAreWantedAsProcessorsAreKeptBusy(int inUse, double leaders, double processors, int wanted) {
		assertThat(Math.max(1, Unfolding.wanted(inUse, leaders, processors))).isEqualTo(wanted);
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
