package org.leaderfollowers.spring.limit;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Comparator;

/**
 * The first bits of an address. Prefixes are comparable, so that a map stays fast if an
 * attacker chooses addresses with equal hash codes.
 *
 * @param ipv6 whether this is the prefix of IPv6 addresses
 * @param high the first 64 bits of an IPv6 address, or an IPv4 address in the first 32
 * bits; bits beyond the length are 0
 * @param low the other 64 bits of an IPv6 address
 * @param length the number of bits
 */
record ClientPrefix(boolean ipv6, long high, long low, int length) implements Comparable<ClientPrefix> {

	private static final Comparator<ClientPrefix> ORDER = Comparator.comparingLong(ClientPrefix::high)
		.thenComparingLong(ClientPrefix::low)
		.thenComparingInt(ClientPrefix::length)
		.thenComparing(ClientPrefix::ipv6);

	/**
	 * Creates the prefix of an address.
	 * @param length from 0 to 32 for IPv4, from 0 to 128 for IPv6
	 */
	static ClientPrefix of(InetAddress address, int length) {
		ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
		if (address instanceof Inet4Address) {
			return new ClientPrefix(false, masked((long) bytes.getInt() << 32, length), 0, length);
		}
		return new ClientPrefix(true, masked(bytes.getLong(), length), masked(bytes.getLong(), length - 64), length);
	}

	private static long masked(long bits, int length) {
		if (length <= 0) {
			return 0;
		}
		return (length < 64) ? bits & (-1L << (64 - length)) : bits;
	}

	@Override
	public int compareTo(ClientPrefix other) {
		return ORDER.compare(this, other);
	}

	@Override
	public String toString() {
		ByteBuffer bytes = this.ipv6 ? ByteBuffer.allocate(16).putLong(this.high).putLong(this.low)
				: ByteBuffer.allocate(4).putInt((int) (this.high >>> 32));
		try {
			String address = InetAddress.getByAddress(bytes.array()).getHostAddress();
			return (this.length == bytes.capacity() * 8) ? address : address + "/" + this.length;
		}
		catch (UnknownHostException ex) {
			throw new IllegalStateException("4 or 16 bytes are an address", ex);
		}
	}

}
