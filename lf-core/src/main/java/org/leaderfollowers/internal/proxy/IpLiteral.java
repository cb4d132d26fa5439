package org.leaderfollowers.internal.proxy;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * Parses IP addresses. It rejects names, which would be looked up, zones, and the short
 * and octal forms of IPv4, which programs interpret differently. A strict check comes
 * before the parser of the JDK, which would accept these forms.
 */
public final class IpLiteral {

	private static final int IPV6_BYTES = 16;

	/** The zeros and ones that precede an IPv4 address in its IPv6 form. */
	private static final byte[] MAPPED_PREFIX = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1 };

	private static final String BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

	private static final String QUAD = BYTE + "(?:\\." + BYTE + "){3}";

	private static final Pattern IPV4 = Pattern.compile(QUAD);

	/**
	 * Groups between colons. The JDK checks their number. A text with a colon is never a
	 * name.
	 */
	private static final Pattern IPV6 = Pattern.compile("(?:[0-9a-fA-F]{0,4}:){2,8}(?:[0-9a-fA-F]{0,4}|" + QUAD + ")");

	private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,8}");

	private IpLiteral() {
	}

	/**
	 * Parses an IPv4 address.
	 * @param text four decimal numbers from 0 to 255 without leading zeros, between dots
	 * @return 4 bytes, or {@code null} if the text is anything else
	 */
	public static byte @Nullable [] parseIpv4(String text) {
		return IPV4.matcher(text).matches() ? parse(text) : null;
	}

	/**
	 * Parses a decimal number.
	 * @param text digits without leading zeros
	 * @param greatest the greatest number that is allowed
	 * @return the number, or -1 if the text is anything else
	 */
	public static int parseNumber(String text, int greatest) {
		int number = NUMBER.matcher(text).matches() ? Integer.parseInt(text) : -1;
		return (number <= greatest) ? number : -1;
	}

	/**
	 * Parses an IPv6 address.
	 * @param text eight groups of one to four hexadecimal digits between colons; two
	 * colons may stand for one or more groups of zeros, and an IPv4 address may stand for
	 * the last two groups
	 * @return 16 bytes, or {@code null} if the text is anything else
	 */
	public static byte @Nullable [] parseIpv6(String text) {
		byte[] address = IPV6.matcher(text).matches() ? parse(text) : null;
		if (address == null || address.length == IPV6_BYTES) {
			return address;
		}
		// For a mapped address, the JDK returns an IPv4 address.
		byte[] mapped = Arrays.copyOf(MAPPED_PREFIX, IPV6_BYTES);
		System.arraycopy(address, 0, mapped, MAPPED_PREFIX.length, address.length);
		return mapped;
	}

	private static byte @Nullable [] parse(String literal) {
		try {
			return InetAddress.getByName(literal).getAddress();
		}
		catch (UnknownHostException ex) {
			return null;
		}
	}

	/**
	 * Whether an IPv6 address stands for an IPv4 address, as {@code ::ffff:10.0.0.1}
	 * does.
	 * @param address the bytes of an address
	 * @return whether its last 4 bytes are an IPv4 address
	 */
	public static boolean isIpv4Mapped(byte[] address) {
		int prefix = MAPPED_PREFIX.length;
		return address.length == IPV6_BYTES && Arrays.equals(address, 0, prefix, MAPPED_PREFIX, 0, prefix);
	}

	/**
	 * Creates an address from bytes.
	 * @param address 4 or 16 bytes
	 * @return the address, which is an IPv4 address if the bytes are a mapped one
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
