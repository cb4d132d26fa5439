package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/** Tests for {@link HazelcastLease}: leases of other nodes are not trusted blindly. */
class HazelcastLeaseTests {

	private static final byte[] DESCRIPTION = { 1, 2, 3 };

	private static byte[] encoded(long restMillis, int length, String id) {
		byte[] name = id.getBytes(StandardCharsets.ISO_8859_1);
		return ByteBuffer.allocate(12 + name.length).putLong(restMillis).putInt(length).put(name).array();
	}

	@Test
	void whatIsEncodedIsDecoded() {
		HazelcastLease lease = HazelcastLease
			.decode(HazelcastLease.of("north@[10.0.0.1]:5701/1f", DESCRIPTION, Duration.ofHours(1)).encode());
		assertThat(lease.id()).isEqualTo("north@[10.0.0.1]:5701/1f");
		assertThat(lease.description()).isEqualTo(DESCRIPTION);
		assertThat(lease.isExpired()).isFalse();
		assertThat(HazelcastLease.decode(HazelcastLease.of("a@b/c", DESCRIPTION, Duration.ZERO).encode()).isExpired())
			.isTrue();
	}

	@Test
	void aShorterOneIsRejected() {
		byte[] whole = encoded(1, 5, "a@b/c");
		assertThat(HazelcastLease.decode(whole).id()).isEqualTo("a@b/c");
		for (int length = 0; length < whole.length; length++) {
			byte[] cut = Arrays.copyOf(whole, length);
			assertThatIllegalArgumentException().isThrownBy(() -> HazelcastLease.decode(cut))
				.withMessageContaining("is damaged");
		}
	}

	/** Nothing is allocated for a length that is not there. */
	@Test
	void aWrongLengthIsRejected() {
		for (int length : new int[] { -1, 6, Integer.MAX_VALUE, Integer.MIN_VALUE }) {
			assertThatIllegalArgumentException().isThrownBy(() -> HazelcastLease.decode(encoded(1, length, "a@b/c")));
		}
	}

	/**
	 * Its address is looked for in each list of nodes, which one lease must not break.
	 */
	@Test
	void anIdentifierWithoutAnAddressIsRejected() {
		for (String id : new String[] { "", "abcde", "a/b@c", "a@b", "a@b/\n", "\u001b@b/c" }) {
			assertThatIllegalArgumentException().as(id)
				.isThrownBy(() -> HazelcastLease.decode(encoded(1, id.length(), id)));
		}
	}

	@Test
	void anImpossibleTimeIsRejected() {
		for (long millis : new long[] { Long.MAX_VALUE, Long.MIN_VALUE, Long.MAX_VALUE / 1000 }) {
			assertThatIllegalArgumentException().isThrownBy(() -> HazelcastLease.decode(encoded(millis, 5, "a@b/c")));
		}
	}

}
