package org.leaderfollowers.internal.proxy;

import java.net.InetAddress;
import java.util.Random;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IpLiteral}.
 */
class IpLiteralTests {

	@ParameterizedTest
	@ValueSource(strings = { "0.0.0.0", "1.20.255.9", "255.255.255.255" })
	void ipv4(String text) throws Exception {
		assertThat(IpLiteral.parseIpv4(text)).isEqualTo(InetAddress.getByName(text).getAddress());
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "1", "1.2.3", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.", "1.2.3.4.5", "1.2.3.256",
			"01.2.3.4", "1.2.3.00", "0x1.2.3.4", "1.2.3.-4", "+1.2.3.4", "1.2.3.4 ", "1.2.3.4\n", "\u0661.2.3.4",
			"localhost", "1.2.3.99999999999" })
	void notIpv4(String text) {
		assertThat(IpLiteral.parseIpv4(text)).isNull();
	}

	@ParameterizedTest
	@CsvSource({ "::,0:0:0:0:0:0:0:0", "::1,0:0:0:0:0:0:0:1", "1::,1:0:0:0:0:0:0:0", "1::8,1:0:0:0:0:0:0:8",
			"1:2:3:4:5:6:7:8,1:2:3:4:5:6:7:8", "1:2::5:6:7:8,1:2:0:0:5:6:7:8", "::2:3:4:5:6:7:8,0:2:3:4:5:6:7:8",
			"1:2:3:4:5:6:7::,1:2:3:4:5:6:7:0", "AbCd::00eF,abcd:0:0:0:0:0:0:ef", "::1.2.3.4,0:0:0:0:0:0:102:304",
			"1:2:3:4:5:6:1.2.3.4,1:2:3:4:5:6:102:304", "64:ff9b::1.2.3.4,64:ff9b:0:0:0:0:102:304" })
	void ipv6(String text, String full) {
		byte[] address = IpLiteral.parseIpv6(text);
		assertThat(address).isNotNull();
		assertThat(IpLiteral.toAddress(address).getHostAddress()).isEqualTo(full);
	}

	@ParameterizedTest
	@ValueSource(strings = { "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", ":2:3:4:5:6:7:8",
			"1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1::2::3", "1:::2", "::12345", "::g",
			"::1%lo", "[::1]", " ::1", "::1 ", "::1.2.3", "::1.2.3.4:5", "::01.2.3.4", "1:2:3:4:5:6:7:1.2.3.4",
			"1.2.3.4", "1.2.3.4::", "::\uff11", "::-1" })
	void notIpv6(String text) {
		assertThat(IpLiteral.parseIpv6(text)).isNull();
	}

	@Test
	void whatTheJdkWritesIsRead() throws Exception {
		Random random = new Random(7);
		for (int i = 0; i < 10_000; i++) {
			byte[] address = new byte[16];
			for (int j = random.nextInt(16); j >= 0; j--) {
				address[random.nextInt(16)] = (byte) random.nextInt();
			}
			String text = InetAddress.getByAddress(address).getHostAddress();
			assertThat(IpLiteral.parseIpv6(text)).as(text).isEqualTo(address);
		}
	}

	@Test
	void mappedAddresses() {
		assertThat(IpLiteral.isIpv4Mapped(parsed("::ffff:1.2.3.4"))).isTrue();
		assertThat(IpLiteral.isIpv4Mapped(parsed("::1.2.3.4"))).isFalse();
		assertThat(IpLiteral.isIpv4Mapped(parsed("1::ffff:1.2.3.4"))).isFalse();
		assertThat(IpLiteral.isIpv4Mapped(parsed("::fffe:1.2.3.4"))).isFalse();
		assertThat(IpLiteral.isIpv4Mapped(new byte[4])).isFalse();
	}

	private static byte[] parsed(String text) {
		byte[] address = IpLiteral.parseIpv6(text);
		assertThat(address).isNotNull();
		return address;
	}

}
