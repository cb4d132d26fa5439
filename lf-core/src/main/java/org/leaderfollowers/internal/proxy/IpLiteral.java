package org.leaderfollowers.internal.proxy;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;

import org.jspecify.annotations.Nullable;

/**
 * IP addresses as text, and nothing else: no names, which would be looked up, none of the
 * short or octal forms of IPv4 that programs read differently, no zones.
 */
public final class IpLiteral {

	private static final int IPV4_BYTES = 4;

	private static final int IPV6_BYTES = 16;

	/** The zeros and ones in front of an IPv4 address that is written as an IPv6 one. */
	private static final int MAPPED_PREFIX_BYTES = 12;

	private IpLiteral() {
	}

	/**
	 * Parses an IPv4 address.
	 * @param text four decimal numbers from 0 to 255 without leading zeros, between dots
	 * @return 4 bytes, or {@code null} if the text is anything else
	 */
	public static byte @Nullable [] parseIpv4(String text) {
		byte[] address = new byte[IPV4_BYTES];
		return parseIpv4(text, 0, address, 0) ? address : null;
	}

	private static boolean parseIpv4(String text, int start, byte[] address, int offset) {
		int next = start;
		for (int i = 0; i < IPV4_BYTES; i++) {
			if (i > 0 && (next == text.length() || text.charAt(next++) != '.')) {
				return false;
			}
			int end = next;
			while (end < text.length() && isDigit(text.charAt(end))) {
				end++;
			}
			int number = parseNumber(text, next, end, 255);
			if (number < 0) {
				return false;
			}
			address[offset + i] = (byte) number;
			next = end;
		}
		return next == text.length();
	}

	/**
	 * Parses a decimal number.
	 * @param text digits without leading zeros
	 * @param greatest the greatest number that is allowed
	 * @return the number, or -1 if the text is anything else
	 */
	public static int parseNumber(String text, int greatest) {
		return parseNumber(text, 0, text.length(), greatest);
	}

	private static int parseNumber(String text, int start, int end, int greatest) {
		if (start == end || (text.charAt(start) == '0' && end - start > 1)) {
			return -1;
		}
		int number = 0;
		for (int i = start; i < end; i++) {
			if (!isDigit(text.charAt(i))) {
				return -1;
			}
			number = number * 10 + text.charAt(i) - '0';
			if (number > greatest) {
				return -1;
			}
		}
		return number;
	}

	private static boolean isDigit(char c) {
		return c >= '0' && c <= '9';
	}

	/**
	 * Parses an IPv6 address.
	 * @param text eight groups of one to four hexadecimal digits between colons, where
	 * two colons may stand for one or more groups of zeros, and an IPv4 address for the
	 * last two groups
	 * @return 16 bytes, or {@code null} if the text is anything else
	 */
	public static byte @Nullable [] parseIpv6(String text) {
		byte[] address = new byte[IPV6_BYTES];
		int length = text.length();
		int filled = 0;
		int gap = -1;
		int next = 0;
		if (text.startsWith("::")) {
			gap = 0;
			next = 2;
		}
		while (next < length) {
			int end = next;
			while (end < length && Character.digit(text.charAt(end), 16) >= 0 && text.charAt(end) < 128) {
				end++;
			}
			if (end < length && text.charAt(end) == '.') {
				if (filled > IPV6_BYTES - IPV4_BYTES || !parseIpv4(text, next, address, filled)) {
					return null;
				}
				filled += IPV4_BYTES;
				next = length;
			}
			else {
				if (end == next || end - next > 4 || filled == IPV6_BYTES) {
					return null;
				}
				int group = Integer.parseInt(text, next, end, 16);
				address[filled++] = (byte) (group >> 8);
				address[filled++] = (byte) group;
				next = end;
				if (end < length) {
					if (text.charAt(end) != ':' || end + 1 == length) {
						return null;
					}
					next = end + 1;
					if (text.charAt(next) == ':') {
						if (gap >= 0) {
							return null;
						}
						gap = filled;
						next++;
					}
				}
			}
		}
		if (gap < 0) {
			return (filled == IPV6_BYTES) ? address : null;
		}
		if (filled == IPV6_BYTES) {
			return null;
		}
		int behind = filled - gap;
		System.arraycopy(address, gap, address, IPV6_BYTES - behind, behind);
		Arrays.fill(address, gap, IPV6_BYTES - behind, (byte) 0);
		return address;
	}

	/**
	 * Whether an IPv6 address is an IPv4 address in disguise, as in
	 * {@code ::ffff:10.0.0.1}.
	 * @param address the bytes of an address
	 * @return whether its last 4 bytes are an IPv4 address
	 */
	public static boolean isIpv4Mapped(byte[] address) {
		if (address.length != IPV6_BYTES) {
			return false;
		}
		for (int i = 0; i < MAPPED_PREFIX_BYTES; i++) {
			if (address[i] != ((i < 10) ? 0 : (byte) 0xFF)) {
				return false;
			}
		}
		return true;
	}

	/**
	 * Makes an address of bytes.
	 * @param address 4 or 16 bytes
	 * @return the address, an IPv4 one if it is mapped
	 */
	public static InetAddress toAddress(byte[] address) {
		try {
			return InetAddress.getByAddress(address);
		}
		catch (UnknownHostException ex) {
			throw new IllegalArgumentException("Of illegal length", ex);
		}
	}

}
