package org.leaderfollowers;

import java.math.BigInteger;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link TrustedNetworks}.
 */
class TrustedNetworksTests {

	@ParameterizedTest
	@CsvSource({ "10.0.0.0/8,10.255.255.255,true", "10.0.0.0/8,11.0.0.0,false", "10.0.0.0/8,9.255.255.255,false",
			"192.0.2.17,192.0.2.17,true", "192.0.2.17,192.0.2.16,false", "192.0.2.16/31,192.0.2.17,true",
			"192.0.2.16/31,192.0.2.18,false", "172.16.0.0/12,172.31.0.1,true", "172.16.0.0/12,172.32.0.1,false",
			"0.0.0.0/0,8.8.8.8,true", "0.0.0.0/0,::1,false", "::/0,2001:db8::1,true", "::/0,8.8.8.8,false",
			"::1,::1,true", "::1,::2,false", "fd00::/8,fdff::1,true", "fd00::/8,fc00::1,false",
			"2001:db8::/33,2001:db8:7fff::1,true", "2001:db8::/33,2001:db8:8000::1,false",
			"::ffff:10.0.0.0/104,10.1.2.3,true", "::ffff:10.0.0.0/104,11.1.2.3,false", "::ffff:10.0.0.1,10.0.0.1,true",
			"::ffff:0:0/96,8.8.8.8,true" })
	void contains(String network, String address, boolean expected) throws Exception {
		assertThat(TrustedNetworks.of(network).contains(InetAddress.getByName(address))).isEqualTo(expected);
	}

	@Test
	void containsWhatHasTheSameLeadingBits() throws Exception {
		Random random = new Random(8);
		int inside = 0;
		for (int i = 0; i < 20_000; i++) {
			byte[] address = new byte[random.nextBoolean() ? 4 : 16];
			random.nextBytes(address);
			int bits = address.length * 8;
			int ignored = random.nextInt(bits + 1);
			BigInteger network = new BigInteger(1, address).shiftRight(ignored);
			byte[] first = Arrays.copyOf(address, address.length);
			byte[] masked = network.shiftLeft(ignored).toByteArray();
			Arrays.fill(first, (byte) 0);
			int length = Math.min(masked.length, first.length);
			System.arraycopy(masked, masked.length - length, first, first.length - length, length);
			int flipped = random.nextInt(bits);
			address[flipped / 8] ^= (byte) (0x80 >> flipped % 8);
			boolean expected = new BigInteger(1, address).shiftRight(ignored).equals(network);
			String text = InetAddress.getByAddress(first).getHostAddress() + "/" + (bits - ignored);
			assertThat(TrustedNetworks.of(text).contains(InetAddress.getByAddress(address))).as(text)
				.isEqualTo(expected);
			inside += expected ? 1 : 0;
		}
		assertThat(inside).isBetween(5000, 15_000);
	}

	@Test
	void mappedAddressIsTheIpv4Address() throws Exception {
		byte[] mapped = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 10, 0, 0, 1 };
		InetAddress address = Inet6Address.getByAddress(null, mapped, -1);
		assertThat(address).isInstanceOf(Inet6Address.class);
		assertThat(TrustedNetworks.of("10.0.0.0/8").contains(address)).isTrue();
		assertThat(TrustedNetworks.of("::/0").contains(address)).isFalse();
	}

	@Test
	void zoneOfAnAddressDoesNotMatter() throws Exception {
		byte[] linkLocal = InetAddress.getByName("fe80::1").getAddress();
		assertThat(TrustedNetworks.of("fe80::/10").contains(Inet6Address.getByAddress(null, linkLocal, 3))).isTrue();
	}

	@Test
	void severalAndNone() throws Exception {
		TrustedNetworks two = TrustedNetworks.of("10.0.0.0/8", "fd00::/8");
		assertThat(two.contains(InetAddress.getByName("10.0.0.1"))).isTrue();
		assertThat(two.contains(InetAddress.getByName("fd00::1"))).isTrue();
		assertThat(two.contains(InetAddress.getByName("127.0.0.1"))).isFalse();
		assertThat(two.isEmpty()).isFalse();
		assertThat(two).hasToString("[10.0.0.0/8, fd00:0:0:0:0:0:0:0/8]");
		assertThat(TrustedNetworks.none().contains(InetAddress.getByName("127.0.0.1"))).isFalse();
		assertThat(TrustedNetworks.none().isEmpty()).isTrue();
		assertThat(TrustedNetworks.of()).isEqualTo(TrustedNetworks.none());
	}

	@Test
	void equality() {
		assertThat(TrustedNetworks.of("10.0.0.0/8")).isEqualTo(TrustedNetworks.of(List.of("::ffff:10.0.0.0/104")))
			.hasSameHashCodeAs(TrustedNetworks.of("10.0.0.0/8"))
			.isNotEqualTo(TrustedNetworks.of("10.0.0.0/9"))
			.isNotEqualTo(TrustedNetworks.none());
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"',
			textBlock = """
					localhost              | 'localhost' is not an IP address. Write for example 10.0.0.0/8, 192.0.2.17 or fd00::/8; names are not looked up
					10.0.0/8               | '10.0.0' is not an IP address
					010.0.0.0/8            | '010.0.0.0' is not an IP address
					10.0.0.0:80            | '10.0.0.0:80' is not an IP address
					fe80::1%eth0           | 'fe80::1%eth0' is not an IP address
					" 10.0.0.0/8"          | ' 10.0.0.0' is not an IP address
					10.0.0.0/              | the prefix length after the slash must be a number from 0 to 32
					10.0.0.0/33            | the prefix length after the slash must be a number from 0 to 32
					10.0.0.0/-1            | the prefix length after the slash must be a number from 0 to 32
					10.0.0.0/8/8           | the prefix length after the slash must be a number from 0 to 32
					10.0.0.0/255.0.0.0     | the prefix length after the slash must be a number from 0 to 32
					fd00::/129             | the prefix length after the slash must be a number from 0 to 128
					10.0.0.1/8             | Write 10.0.0.0/8 for the network, or 10.0.0.1 for the address alone
					192.0.2.17/31          | Write 192.0.2.16/31 for the network
					::ffff:10.0.0.1/104    | Write 10.0.0.0/8 for the network
					fd00::1/8              | Write fd00:0:0:0:0:0:0:0/8 for the network, or fd00::1 for the address alone
					""")
	void aMistakeIsExplained(String network, String message) {
		assertThatIllegalArgumentException().isThrownBy(() -> TrustedNetworks.of(network))
			.withMessageStartingWith("'%s' is not a network".formatted(network))
			.withMessageContaining(message);
	}

}
