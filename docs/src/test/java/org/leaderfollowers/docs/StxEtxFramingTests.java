package org.leaderfollowers.docs;

import org.junit.jupiter.api.Test;

import static org.leaderfollowers.spring.test.assertion.LfAssertions.assertThat;

// tag::tests[]
class StxEtxFramingTests {

	private static final byte STX = 0x02;

	private static final byte ETX = 0x03;

	private final StxEtxFraming framing = new StxEtxFraming();

	@Test
	void readsWhatItWrites() {
		assertThat(this.framing).writes("a", STX, (byte) 'a', ETX).roundTrips("a", "", "longer");
	}

	@Test
	void refusesWhatDoesNotBeginWithStx() {
		assertThat(this.framing).waitsFor(STX, (byte) 'a').rejects((byte) 'a').rejects(STX, ETX, (byte) 'a');
	}

	@Test
	void refusesWhatIsTooLarge() {
		assertThat(this.framing).withMaxMessageSize(2)
			.roundTrips("ab")
			.rejects(STX, (byte) 'a', (byte) 'b', (byte) 'c', ETX);
	}

}
// end::tests[]
