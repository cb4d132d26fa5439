package org.leaderfollowers.internal.proxy;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.zip.CRC32C;

/**
 * Headers of the PROXY protocol, byte by byte as the specification has them.
 */
public final class ProxyHeaders {

	static final byte[] SIGNATURE = HexFormat.of().parseHex("0d0a0d0a000d0a515549540a");

	/** 203.0.113.9:40000 to 198.51.100.1:443. */
	static final byte[] IPV4 = HexFormat.of().parseHex("cb007109" + "c6336401" + "9c40" + "01bb");

	/** [2001:db8::9]:40000 to [2001:db8::1]:443. */
	static final byte[] IPV6 = HexFormat.of()
		.parseHex("20010db8000000000000000000000009" + "20010db8000000000000000000000001" + "9c40" + "01bb");

	private ProxyHeaders() {
	}

	/** A line of version 1, without its end. */
	public static byte[] v1(String line) {
		return ascii(line + "\r\n");
	}

	static byte[] ascii(String text) {
		return text.getBytes(StandardCharsets.ISO_8859_1);
	}

	/** A header of version 2 with the right length. */
	static byte[] v2(int command, int family, byte[]... body) {
		byte[] rest = join(body);
		ByteBuffer header = ByteBuffer.allocate(16 + rest.length);
		header.put(SIGNATURE).put((byte) command).put((byte) family).putShort((short) rest.length).put(rest);
		return header.array();
	}

	/** The header of version 2 of a TCP connection over IPv4, and what follows it. */
	public static byte[] v2Ipv4(byte[]... tlvs) {
		return v2(0x21, 0x11, IPV4, join(tlvs));
	}

	/** The header of version 2 of a TCP connection over IPv6. */
	public static byte[] v2Ipv6() {
		return v2(0x21, 0x21, IPV6);
	}

	/** The header of version 2 of a connection of the proxy itself. */
	public static byte[] v2Local() {
		return v2(0x20, 0x00);
	}

	public static byte[] tlv(int type, byte[] value) {
		return ByteBuffer.allocate(3 + value.length).put((byte) type).putShort((short) value.length).put(value).array();
	}

	/** Fills in a checksum at an index where there are four zeros. */
	static byte[] withChecksum(byte[] header, int index) {
		CRC32C crc = new CRC32C();
		crc.update(header);
		byte[] checked = header.clone();
		ByteBuffer.wrap(checked).putInt(index, (int) crc.getValue());
		return checked;
	}

	public static byte[] join(byte[]... parts) {
		ByteArrayOutputStream all = new ByteArrayOutputStream();
		for (byte[] part : parts) {
			all.writeBytes(part);
		}
		return all.toByteArray();
	}

}
