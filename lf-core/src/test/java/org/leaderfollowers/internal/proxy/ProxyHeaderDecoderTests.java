package org.leaderfollowers.internal.proxy;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.params.provider.Arguments.arguments;
import static org.leaderfollowers.internal.proxy.ProxyHeaders.IPV4;
import static org.leaderfollowers.internal.proxy.ProxyHeaders.IPV6;
import static org.leaderfollowers.internal.proxy.ProxyHeaders.ascii;
import static org.leaderfollowers.internal.proxy.ProxyHeaders.join;
import static org.leaderfollowers.internal.proxy.ProxyHeaders.tlv;
import static org.leaderfollowers.internal.proxy.ProxyHeaders.v1;
import static org.leaderfollowers.internal.proxy.ProxyHeaders.v2;
import static org.leaderfollowers.internal.proxy.ProxyHeaders.v2Ipv4;
import static org.leaderfollowers.internal.proxy.ProxyHeaders.withChecksum;

/**
 * Tests for {@link ProxyHeaderDecoder}.
 */
class ProxyHeaderDecoderTests {

	private static final String CLIENT = "203.0.113.9:40000 > 198.51.100.1:443";

	private static final String CLIENT6 = "[2001:db8:0:0:0:0:0:9]:40000 > [2001:db8:0:0:0:0:0:1]:443";

	private static final byte[] BEHIND = ascii("PROXY \r\n behind");

	static Stream<Arguments> valid() {
		return Stream.of(arguments(CLIENT, v1("PROXY TCP4 203.0.113.9 198.51.100.1 40000 443")),
				arguments("255.255.255.255:65535 > 255.255.255.255:65535",
						v1("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535")),
				arguments("0.0.0.0:0 > 0.0.0.0:0", v1("PROXY TCP4 0.0.0.0 0.0.0.0 0 0")),
				arguments(CLIENT6, v1("PROXY TCP6 2001:db8::9 2001:DB8::1 40000 443")),
				arguments("[0:0:0:0:0:0:0:0]:1 > [0:0:0:0:0:0:0:1]:2", v1("PROXY TCP6 :: ::1 1 2")),
				arguments("[1:2:3:4:5:6:7:0]:1 > [0:2:3:4:5:6:7:8]:2",
						v1("PROXY TCP6 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8 1 2")),
				arguments("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535 > [1:0:0:0:0:0:0:8]:65535",
						v1("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 0001::0008 65535 65535")),
				arguments(CLIENT, v1("PROXY TCP6 ::ffff:203.0.113.9 ::ffff:198.51.100.1 40000 443")),
				arguments(CLIENT, v1("PROXY TCP6 ::ffff:cb00:7109 ::ffff:c633:6401 40000 443")),
				arguments("none", v1("PROXY UNKNOWN")),
				arguments("none",
						v1("PROXY UNKNOWN " + "ffff:".repeat(7) + "ffff " + "ffff:".repeat(7) + "ffff 65535 65535")),
				arguments("none", v1("PROXY UNKNOWN  whatever \u00e4\u0000")), arguments(CLIENT, v2(0x21, 0x11, IPV4)),
				arguments(CLIENT, v2(0x21, 0x12, IPV4)), arguments(CLIENT6, v2(0x21, 0x21, IPV6)),
				arguments(CLIENT6, v2(0x21, 0x22, IPV6)), arguments("none", v2(0x21, 0x31, new byte[216])),
				arguments("none", v2(0x21, 0x32, new byte[216], tlv(4, new byte[3]))),
				arguments("none", v2(0x21, 0x00)), arguments("none", v2(0x21, 0x00, new byte[5])),
				arguments("none", v2(0x20, 0x00)), arguments("none", v2(0x20, 0x11, IPV4)),
				arguments("none", v2(0x20, 0xFF, new byte[300])),
				arguments(CLIENT, v2Ipv4(tlv(4, new byte[0]), tlv(2, ascii("example.com")), tlv(0xEA, new byte[300]))),
				arguments(CLIENT, v2(0x21, 0x11, IPV4, tlv(4, new byte[65535 - 12 - 3]))),
				arguments(CLIENT, withChecksum(v2Ipv4(tlv(3, new byte[4])), 16 + 12 + 3)),
				arguments(CLIENT6,
						withChecksum(
								v2(0x21, 0x21, IPV6, tlv(1, ascii("h2")), tlv(3, new byte[4]), tlv(5, new byte[9])),
								16 + 36 + 5 + 3)),
				arguments("none", withChecksum(v2(0x21, 0x31, new byte[216], tlv(3, new byte[4])), 16 + 216 + 3)));
	}

	static Stream<Arguments> invalid() {
		byte[] wrongChecksum = withChecksum(v2Ipv4(tlv(3, new byte[4])), 16 + 12 + 3);
		wrongChecksum[17] ^= 1;
		return Stream.of(arguments("begins with something else", ascii("GET / HTTP/1.1\r\n\r\n")),
				arguments("begins with something else", ascii("PROXX")),
				arguments("begins with something else", ascii("PROXY\tTCP4")),
				arguments("begins with something else", ascii("proxy TCP4")),
				arguments("begins with something else", ascii("\r\n\r\n\0\r\nQUIT\r")),
				arguments("begins with TLS", new byte[] { 0x16, 3, 1 }),
				arguments("single carriage return or line feed", ascii("PROXY UNKNOWN\n")),
				arguments("single carriage return or line feed", ascii("PROXY UNKNOWN\rX")),
				arguments("single carriage return or line feed", ascii("PROXY UNKNOWN\r\r\n")),
				arguments("single carriage return or line feed", ascii("PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n")),
				arguments("longer than 107 bytes", v1("PROXY UNKNOWN " + "x".repeat(92))),
				arguments("TCP4, TCP6 or UNKNOWN", v1("PROXY ")),
				arguments("TCP4, TCP6 or UNKNOWN", v1("PROXY UNKNOWNX")),
				arguments("TCP4, TCP6 or UNKNOWN", v1("PROXY tcp4 1.2.3.4 1.2.3.4 1 2")),
				arguments("TCP4, TCP6 or UNKNOWN", v1("PROXY UDP4 1.2.3.4 1.2.3.4 1 2")),
				arguments("TCP4, TCP6 or UNKNOWN", v1("PROXY  TCP4 1.2.3.4 1.2.3.4 1 2")),
				arguments("between single spaces", v1("PROXY TCP4")),
				arguments("between single spaces", v1("PROXY TCP4 1.2.3.4 1.2.3.4 1")),
				arguments("between single spaces", v1("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3")),
				arguments("between single spaces", v1("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 ")),
				arguments("between single spaces", v1("PROXY TCP4 1.2.3.4  1.2.3.4 1 2")),
				arguments("source address of version 1 is not a valid IPv4", v1("PROXY TCP4 ::1 ::1 1 2")),
				arguments("destination address of version 1 is not a valid IPv4",
						v1("PROXY TCP4 1.2.3.4 1.2.3.04 1 2")),
				arguments("source address of version 1 is not a valid IPv6", v1("PROXY TCP6 1.2.3.4 1.2.3.4 1 2")),
				arguments("destination address of version 1 is not a valid IPv6", v1("PROXY TCP6 ::1 fe80::1%lo 1 2")),
				arguments("source port", v1("PROXY TCP4 1.2.3.4 1.2.3.4 65536 2")),
				arguments("source port", v1("PROXY TCP4 1.2.3.4 1.2.3.4 01 2")),
				arguments("destination port", v1("PROXY TCP4 1.2.3.4 1.2.3.4 1 -2")),
				arguments("destination port", v1("PROXY TCP4 1.2.3.4 1.2.3.4 1 99999999999")),
				arguments("the version of the binary header is not 2", v2(0x11, 0x11, IPV4)),
				arguments("the version of the binary header is not 2", v2(0x31, 0x11, IPV4)),
				arguments("neither LOCAL nor PROXY", v2(0x22, 0x11, IPV4)),
				arguments("neither LOCAL nor PROXY", v2(0x2F, 0x11, IPV4)),
				arguments("family or the transport protocol", v2(0x21, 0x13, IPV4)),
				arguments("family or the transport protocol", v2(0x21, 0x41, IPV4)),
				arguments("family or the transport protocol", v2(0x21, 0x10, IPV4)),
				arguments("family or the transport protocol", v2(0x21, 0x01, IPV4)),
				arguments("declares 11 bytes of addresses, but those of its family have 12",
						v2(0x21, 0x11, Arrays.copyOf(IPV4, 11))),
				arguments("declares 0 bytes", v2(0x21, 0x21)),
				arguments("declares 35 bytes", v2(0x21, 0x21, Arrays.copyOf(IPV6, 35))),
				arguments("declares 215 bytes", v2(0x21, 0x31, new byte[215])),
				arguments("type-length-value", v2Ipv4(new byte[1])),
				arguments("type-length-value", v2Ipv4(new byte[2])),
				arguments("type-length-value", v2Ipv4(new byte[] { 4, 0, 1 })),
				arguments("type-length-value", v2Ipv4(new byte[] { 4, (byte) 0xFF, (byte) 0xFF, 1, 2, 3 })),
				arguments("type-length-value", v2Ipv4(tlv(4, new byte[3]), new byte[2])),
				arguments("its checksum is wrong", wrongChecksum),
				arguments("its checksum is wrong", v2Ipv4(tlv(3, new byte[4]))),
				arguments("more than one checksum", v2Ipv4(tlv(3, new byte[3]))),
				arguments("more than one checksum", v2Ipv4(tlv(3, new byte[5]))),
				arguments("more than one checksum", v2Ipv4(tlv(3, new byte[4]), tlv(3, new byte[4]))));
	}

	@ParameterizedTest
	@MethodSource
	void valid(String expected, byte[] header) throws Exception {
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		ByteBuffer input = ByteBuffer.wrap(join(header, BEHIND));
		assertThat(decoder.decode(input)).isTrue();
		assertThat(text(decoder.header())).isEqualTo(expected);
		assertThat(input.remaining()).isEqualTo(BEHIND.length);
		assertThat(decoder.missing()).isZero();
		assertThat(decoder.decode(input)).isTrue();
		assertThat(input.remaining()).isEqualTo(BEHIND.length);
	}

	@ParameterizedTest
	@MethodSource("valid")
	void everySplit(String expected, byte[] header) throws Exception {
		// All splits of a long header would take a minute.
		int step = Math.max(1, header.length / 500);
		for (int split = 0; split <= header.length; split += step) {
			ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
			assertThat(decoder.decode(ByteBuffer.wrap(header, 0, split))).isEqualTo(split == header.length);
			ByteBuffer rest = ByteBuffer.wrap(join(Arrays.copyOfRange(header, split, header.length), BEHIND));
			assertThat(decoder.decode(rest)).isTrue();
			assertThat(text(decoder.header())).isEqualTo(expected);
			assertThat(rest.remaining()).isEqualTo(BEHIND.length);
		}
	}

	@ParameterizedTest
	@MethodSource("valid")
	void byteByByte(String expected, byte[] header) throws Exception {
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		for (int i = 0; i < header.length; i++) {
			assertThat(decoder.missing()).isBetween(1, header.length - i);
			assertThat(decoder.decode(ByteBuffer.wrap(header, i, 1))).isEqualTo(i == header.length - 1);
		}
		assertThat(text(decoder.header())).isEqualTo(expected);
	}

	@ParameterizedTest
	@MethodSource("valid")
	void whoReadsWhatIsMissingNeverReadsFurther(String expected, byte[] header) throws Exception {
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		int at = 0;
		int reads = 0;
		while (decoder.missing() > 0) {
			int count = decoder.missing();
			assertThat(at + count).isLessThanOrEqualTo(header.length);
			decoder.decode(ByteBuffer.wrap(header, at, count));
			at += count;
			reads++;
		}
		assertThat(at).isEqualTo(header.length);
		assertThat(text(decoder.header())).isEqualTo(expected);
		assertThat(reads).isLessThanOrEqualTo(50);
	}

	@ParameterizedTest
	@MethodSource
	void invalid(String reason, byte[] header) {
		assertThatExceptionOfType(ProxyHeaderException.class)
			.isThrownBy(() -> new ProxyHeaderDecoder().decode(ByteBuffer.wrap(header)))
			.withMessageContaining(reason);
		assertThatExceptionOfType(ProxyHeaderException.class).isThrownBy(() -> {
			ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
			for (byte b : header) {
				assertThat(decoder.missing()).isPositive();
				decoder.decode(ByteBuffer.wrap(new byte[] { b }));
			}
		}).withMessageContaining(reason);
	}

	@ParameterizedTest
	@MethodSource("valid")
	void everyBeginningIsIncomplete(String expected, byte[] header) throws Exception {
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		assertThat(decoder.decode(ByteBuffer.wrap(header, 0, header.length - 1))).isFalse();
		assertThatIllegalStateException().isThrownBy(decoder::header);
	}

	@ParameterizedTest
	@ValueSource(strings = { "G", "\u0016", "\n", "\r\r", "PR_", "PROXY_" })
	void garbageIsRefusedAtTheFirstWrongByte(String garbage) throws Exception {
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		byte[] bytes = ascii(garbage);
		decoder.decode(ByteBuffer.wrap(bytes, 0, bytes.length - 1));
		assertThatExceptionOfType(ProxyHeaderException.class)
			.isThrownBy(() -> decoder.decode(ByteBuffer.wrap(bytes, bytes.length - 1, 1)));
	}

	@Test
	void reasonsHaveNothingOfTheInput() {
		assertThatExceptionOfType(ProxyHeaderException.class)
			.isThrownBy(() -> new ProxyHeaderDecoder().decode(ByteBuffer.wrap(v1("PROXY TCP4 secret secret 1 2"))))
			.withMessageNotContaining("secret");
	}

	@Test
	void directInputAndInputBehindOtherInput() throws Exception {
		byte[] header = v2Ipv4(tlv(4, new byte[10]));
		ByteBuffer direct = ByteBuffer.allocateDirect(header.length + 10);
		direct.position(7).put(header).put((byte) 1).flip().position(7);
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		assertThat(decoder.decode(direct)).isTrue();
		assertThat(direct.remaining()).isOne();
		assertThat(text(decoder.header())).isEqualTo(CLIENT);
	}

	static String text(ProxyHeader header) {
		if (header.source() == null || header.destination() == null) {
			assertThat(Arrays.asList(header.source(), header.destination())).isEqualTo(Arrays.asList(null, null));
			return "none";
		}
		return String.join(" > ", List.of(text(header.source()), text(header.destination())));
	}

	static String text(@Nullable InetSocketAddress address) {
		assertThat(address).isNotNull();
		String host = address.getAddress().getHostAddress();
		return ((host.indexOf(':') < 0) ? host : "[" + host + "]") + ":" + address.getPort();
	}

}
