package org.leaderfollowers.internal.proxy;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32C;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.transport.Preamble;

/**
 * Decodes the header of the PROXY protocol at the beginning of one connection, however it
 * is split: version 1, a line of text, and version 2, which is binary. The sender chooses
 * the version. Whether there is a header is never guessed.
 * <p>
 * The decoder keeps either the line of version 1, or the addresses of version 2; its
 * memory does not depend on the lengths in the header. Further information of version 2
 * is checked and skipped as it arrives, so even the longest header, of 65,551 bytes,
 * needs no memory. Not thread-safe.
 */
public final class ProxyHeaderDecoder implements Preamble {

	private static final byte[] V1_BEGIN = "PROXY ".getBytes(StandardCharsets.US_ASCII);

	private static final byte[] V2_SIGNATURE = { 0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54,
			0x0A };

	/** The length of the longest line, {@code CR LF} included. */
	private static final int V1_LONGEST = 107;

	/** The length of {@code PROXY UNKNOWN CR LF}. */
	private static final int V1_SHORTEST = 15;

	private static final int V1_SPACES = 5;

	/** Signature, version and command, family and transport, length of the rest. */
	private static final int V2_FIXED = 16;

	private static final int V2_LOCAL = 0x20;

	private static final int V2_PROXY = 0x21;

	private static final int IPV4_BLOCK = 12;

	private static final int IPV6_BLOCK = 36;

	private static final int UNIX_BLOCK = 216;

	/** The size of the type and the length of one piece of further information. */
	private static final int TLV_FIXED = 3;

	private static final int TLV_CRC32C = 0x03;

	private static final int CRC32C_BYTES = 4;

	private static final int TLS_HANDSHAKE = 0x16;

	/** The step that processes the next byte. */
	private enum Step {

		BEGIN, V1_LINE, V2_BEGIN, V2_ADDRESSES, V2_TLV_BEGIN, V2_CHECKSUM, V2_TLV_VALUE, V2_SKIP, COMPLETE

	}

	private Step step = Step.BEGIN;

	/** The line, or the beginning of the binary header with the addresses. */
	private byte[] kept = new byte[V2_FIXED];

	private int size;

	/** How many spaces the line has so far. */
	private int spaces;

	/** How many bytes of the binary header follow the kept bytes. */
	private int left;

	/** The number of bytes of the addresses. */
	private int block;

	/** How many bytes of the type, the length or the value have not arrived. */
	private int tlvLeft;

	/** The type, then the length. */
	private int tlv;

	private @Nullable CRC32C calculated;

	private int checksum;

	private boolean checksumGiven;

	private ProxyHeader header = ProxyHeader.WITHOUT_ADDRESSES;

	@Override
	public int missing() {
		return switch (this.step) {
			case BEGIN -> V1_SHORTEST - this.size;
			case V1_LINE -> missingOfLine();
			case V2_BEGIN -> V2_FIXED - this.size;
			case COMPLETE -> 0;
			default -> this.left;
		};
	}

	private int missingOfLine() {
		int end = 2;
		byte last = this.kept[this.size - 1];
		if (last == '\r') {
			end = 1;
		}
		else if (isTcp()) {
			// Each field that is still missing needs at least one character and one
			// space.
			end += Math.max(0, V1_SPACES - this.spaces) * 2 + ((last == ' ') ? 1 : 0);
		}
		return Math.min(Math.max(end, V1_SHORTEST - this.size), V1_LONGEST - this.size);
	}

	private boolean isTcp() {
		return this.size > V1_BEGIN.length && this.kept[V1_BEGIN.length] == 'T';
	}

	/**
	 * Decodes the bytes that have arrived.
	 * @param input from position to limit. If it contains more than the header, the
	 * position is moved behind the header
	 * @return whether the header is complete
	 * @throws ProxyHeaderException if it is invalid; the decoder must not be used
	 * afterwards
	 */
	@Override
	public boolean decode(ByteBuffer input) throws ProxyHeaderException {
		while (this.step != Step.COMPLETE && input.hasRemaining()) {
			switch (this.step) {
				case BEGIN -> begin(input.get());
				case V1_LINE -> line(input.get());
				case V2_BEGIN -> v2Begin(input.get());
				case V2_ADDRESSES -> addresses(input.get());
				case V2_TLV_BEGIN -> tlvBegin(input.get());
				case V2_CHECKSUM -> checksum(input.get());
				default -> skip(input);
			}
		}
		return this.step == Step.COMPLETE;
	}

	/**
	 * The decoded header.
	 * @return the header
	 * @throws IllegalStateException if it is not complete
	 */
	public ProxyHeader header() {
		if (this.step != Step.COMPLETE) {
			throw new IllegalStateException("The header is not complete");
		}
		return this.header;
	}

	private void keep(byte b) {
		if (this.size == this.kept.length) {
			this.kept = Arrays.copyOf(this.kept, Math.min(this.size * 2, V1_LONGEST));
		}
		this.kept[this.size++] = b;
	}

	private void begin(byte b) throws ProxyHeaderException {
		boolean text = ((this.size == 0) ? b : this.kept[0]) == V1_BEGIN[0];
		byte[] expected = text ? V1_BEGIN : V2_SIGNATURE;
		if (b != expected[this.size]) {
			String found = (this.size == 0 && b == TLS_HANDSHAKE) ? "TLS" : "something else";
			throw new ProxyHeaderException("there is none, the connection begins with " + found
					+ ". Let the sender send the header, or remove it from the trusted networks");
		}
		keep(b);
		if (this.size == expected.length) {
			this.step = text ? Step.V1_LINE : Step.V2_BEGIN;
			this.spaces = 1;
		}
	}

	// Version 1

	private void line(byte b) throws ProxyHeaderException {
		boolean afterReturn = this.kept[this.size - 1] == '\r';
		if (afterReturn != (b == '\n')) {
			throw new ProxyHeaderException("the line of version 1 has a single carriage return or line feed");
		}
		keep(b);
		if (afterReturn) {
			this.header = parse(new String(this.kept, V1_BEGIN.length, this.size - 2 - V1_BEGIN.length,
					StandardCharsets.ISO_8859_1));
			this.step = Step.COMPLETE;
		}
		else if (this.size == V1_LONGEST) {
			throw new ProxyHeaderException("the line of version 1 is longer than " + V1_LONGEST + " bytes");
		}
		else if (b == ' ') {
			this.spaces++;
		}
	}

	private static ProxyHeader parse(String line) throws ProxyHeaderException {
		String[] parts = line.split(" ", -1);
		switch (parts[0]) {
			case "UNKNOWN" -> {
				return ProxyHeader.WITHOUT_ADDRESSES;
			}
			case "TCP4", "TCP6" -> {
				if (parts.length != V1_SPACES) {
					throw new ProxyHeaderException(
							"the line of version 1 is not made of two addresses and two ports between single spaces");
				}
				boolean ipv4 = parts[0].equals("TCP4");
				return new ProxyHeader(v1Address(ipv4, "source", parts[1], parts[3]),
						v1Address(ipv4, "destination", parts[2], parts[4]));
			}
			default -> throw new ProxyHeaderException("the protocol of version 1 is not TCP4, TCP6 or UNKNOWN");
		}
	}

	private static InetSocketAddress v1Address(boolean ipv4, String which, String address, String port)
			throws ProxyHeaderException {
		byte[] bytes = ipv4 ? IpLiteral.parseIpv4(address) : IpLiteral.parseIpv6(address);
		if (bytes == null) {
			throw new ProxyHeaderException(
					"the %s address of version 1 is not a valid %s address".formatted(which, ipv4 ? "IPv4" : "IPv6"));
		}
		int number = IpLiteral.parseNumber(port, 65535);
		if (number < 0) {
			throw new ProxyHeaderException("the %s port of version 1 is not a number from 0 to 65535".formatted(which));
		}
		return new InetSocketAddress(IpLiteral.toAddress(bytes), number);
	}

	// Version 2

	private void v2Begin(byte b) throws ProxyHeaderException {
		keep(b);
		if (this.size == V2_SIGNATURE.length + 1 && b != V2_LOCAL && b != V2_PROXY) {
			throw new ProxyHeaderException(((b & 0xF0) == (V2_LOCAL & 0xF0)) ? "the command is neither LOCAL nor PROXY"
					: "the version of the binary header is not 2");
		}
		if (this.size == V2_FIXED) {
			this.left = unsignedShort(V2_FIXED - 2);
			this.block = block();
			if (this.left < this.block) {
				throw new ProxyHeaderException("it declares %d bytes of addresses, but those of its family have %d"
					.formatted(this.left, this.block));
			}
			// The contents of a header without addresses are not used, so they are not
			// checked. Their meaning is not even known.
			next((this.block > 0) ? Step.V2_ADDRESSES : Step.V2_SKIP);
		}
	}

	/** Returns the length of the addresses, or 0 if they are ignored. */
	private int block() throws ProxyHeaderException {
		if (this.kept[V2_SIGNATURE.length] == V2_LOCAL) {
			return 0;
		}
		return switch (this.kept[V2_SIGNATURE.length + 1]) {
			case 0x00 -> 0;
			case 0x11, 0x12 -> IPV4_BLOCK;
			case 0x21, 0x22 -> IPV6_BLOCK;
			case 0x31, 0x32 -> UNIX_BLOCK;
			default -> throw new ProxyHeaderException("the address family or the transport protocol is unknown");
		};
	}

	private int unsignedShort(int index) {
		return (this.kept[index] & 0xFF) << 8 | this.kept[index + 1] & 0xFF;
	}

	/** Continues with a step if it has any bytes to process. */
	private void next(Step step) throws ProxyHeaderException {
		this.step = (this.left == 0) ? Step.COMPLETE : step;
		if (step == Step.V2_TLV_BEGIN) {
			this.tlv = 0;
			this.tlvLeft = TLV_FIXED;
			if (this.left > 0 && this.left < TLV_FIXED) {
				throw tornTlv();
			}
		}
		if (this.step == Step.COMPLETE && this.checksumGiven && this.calculated != null
				&& (int) this.calculated.getValue() != this.checksum) {
			throw new ProxyHeaderException("its checksum is wrong");
		}
	}

	private static ProxyHeaderException tornTlv() {
		return new ProxyHeaderException("a type-length-value vector does not end where the header does");
	}

	private void addresses(byte b) throws ProxyHeaderException {
		this.left--;
		if (this.block == UNIX_BLOCK) {
			calculated().update(b);
			this.size++;
		}
		else {
			keep(b);
		}
		if (this.size == V2_FIXED + this.block) {
			CRC32C crc = calculated();
			if (this.block != UNIX_BLOCK) {
				crc.update(this.kept, V2_FIXED, this.block);
				int address = (this.block == IPV4_BLOCK) ? 4 : 16;
				this.header = new ProxyHeader(v2Address(V2_FIXED, address, V2_FIXED + 2 * address),
						v2Address(V2_FIXED + address, address, V2_FIXED + 2 * address + 2));
			}
			next(Step.V2_TLV_BEGIN);
		}
	}

	private InetSocketAddress v2Address(int start, int length, int port) {
		return new InetSocketAddress(IpLiteral.toAddress(Arrays.copyOfRange(this.kept, start, start + length)),
				unsignedShort(port));
	}

	private CRC32C calculated() {
		CRC32C crc = this.calculated;
		if (crc == null) {
			crc = new CRC32C();
			crc.update(this.kept, 0, V2_FIXED);
			this.calculated = crc;
		}
		return crc;
	}

	private void tlvBegin(byte b) throws ProxyHeaderException {
		this.left--;
		calculated().update(b);
		this.tlv = this.tlv << 8 | b & 0xFF;
		if (--this.tlvLeft > 0) {
			return;
		}
		this.tlvLeft = this.tlv & 0xFFFF;
		if (this.tlvLeft > this.left) {
			throw tornTlv();
		}
		if (this.tlv >> 16 == TLV_CRC32C) {
			if (this.checksumGiven || this.tlvLeft != CRC32C_BYTES) {
				throw new ProxyHeaderException(
						"it has more than one checksum, or a checksum that does not have 4 bytes");
			}
			this.checksumGiven = true;
			this.step = Step.V2_CHECKSUM;
		}
		else {
			next((this.tlvLeft > 0) ? Step.V2_TLV_VALUE : Step.V2_TLV_BEGIN);
		}
	}

	private void checksum(byte b) throws ProxyHeaderException {
		this.left--;
		// The checksum was calculated with zeros in its own place.
		calculated().update(0);
		this.checksum = this.checksum << 8 | b & 0xFF;
		if (--this.tlvLeft == 0) {
			next(Step.V2_TLV_BEGIN);
		}
	}

	/** Skips the rest of a value or of the header. */
	private void skip(ByteBuffer input) throws ProxyHeaderException {
		boolean value = this.step == Step.V2_TLV_VALUE;
		int count = Math.min(input.remaining(), value ? this.tlvLeft : this.left);
		int end = input.position() + count;
		if (value) {
			int limit = input.limit();
			calculated().update(input.limit(end));
			input.limit(limit);
		}
		input.position(end);
		this.left -= count;
		this.tlvLeft -= count;
		if (!value) {
			next(Step.V2_SKIP);
		}
		else if (this.tlvLeft == 0) {
			next(Step.V2_TLV_BEGIN);
		}
	}

	@Override
	public String toString() {
		return "the header of the PROXY protocol";
	}

}
