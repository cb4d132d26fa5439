package org.leaderfollowers;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

import org.leaderfollowers.internal.proxy.IpLiteral;

/**
 * The networks of the proxies and load balancers that the server trusts to report the
 * address of a client; see {@link TcpServer.Builder#proxyProtocol}. Immutable.
 * <p>
 * A network is an address with a prefix length, for example {@code 10.0.0.0/8} or
 * {@code fd00::/8}, or a single address. An IPv4-mapped IPv6 address, such as
 * {@code ::ffff:10.0.0.1}, is treated as the IPv4 address.
 */
public final class TrustedNetworks {

	private static final TrustedNetworks NONE = new TrustedNetworks(List.of());

	private static final int MAPPED_PREFIX = 96;

	private final List<Network> networks;

	private TrustedNetworks(List<Network> networks) {
		this.networks = networks;
	}

	/**
	 * No network at all.
	 * @return networks that contain no address
	 */
	public static TrustedNetworks none() {
		return NONE;
	}

	/**
	 * Networks to trust.
	 * @param networks IP addresses, or addresses with a prefix length, such as
	 * {@code 10.0.0.0/8}
	 * @return the networks
	 * @throws IllegalArgumentException if one of them is not an address or a network
	 */
	public static TrustedNetworks of(String... networks) {
		return of(Arrays.asList(networks));
	}

	/**
	 * Networks to trust.
	 * @param networks IP addresses, or addresses with a prefix length, such as
	 * {@code 10.0.0.0/8}
	 * @return the networks
	 * @throws IllegalArgumentException if one of them is not an address or a network
	 */
	public static TrustedNetworks of(Collection<String> networks) {
		List<Network> parsed = new ArrayList<>(networks.size());
		for (String network : networks) {
			parsed.add(Network.parse(network));
		}
		return parsed.isEmpty() ? NONE : new TrustedNetworks(List.copyOf(parsed));
	}

	/**
	 * Whether there is no network at all.
	 * @return {@code true} if no address is trusted
	 */
	public boolean isEmpty() {
		return this.networks.isEmpty();
	}

	/**
	 * Whether an address belongs to one of the networks.
	 * @param address an IPv4 or IPv6 address
	 * @return whether it is trusted
	 */
	public boolean contains(InetAddress address) {
		byte[] bytes = unmapped(address.getAddress());
		for (Network network : this.networks) {
			if (network.contains(bytes)) {
				return true;
			}
		}
		return false;
	}

	private static byte[] unmapped(byte[] address) {
		return IpLiteral.isIpv4Mapped(address) ? Arrays.copyOfRange(address, MAPPED_PREFIX / 8, address.length)
				: address;
	}

	@Override
	public boolean equals(Object other) {
		return other instanceof TrustedNetworks that && this.networks.equals(that.networks);
	}

	@Override
	public int hashCode() {
		return this.networks.hashCode();
	}

	@Override
	public String toString() {
		return this.networks.toString();
	}

	/** A single network. */
	private static final class Network {

		private final byte[] address;

		private final int prefix;

		private Network(byte[] address, int prefix) {
			this.address = address;
			this.prefix = prefix;
		}

		static Network parse(String text) {
			int slash = text.indexOf('/');
			String literal = (slash < 0) ? text : text.substring(0, slash);
			byte[] address = (literal.indexOf(':') < 0) ? IpLiteral.parseIpv4(literal) : IpLiteral.parseIpv6(literal);
			if (address == null) {
				throw new IllegalArgumentException(
						"'%s' is not a network: '%s' is not an IP address. Write for example 10.0.0.0/8, 192.0.2.17 or fd00::/8; names are not looked up"
							.formatted(text, literal));
			}
			int bits = address.length * 8;
			int prefix = (slash < 0) ? bits : IpLiteral.parseNumber(text.substring(slash + 1), bits);
			if (prefix < 0) {
				throw new IllegalArgumentException(
						"'%s' is not a network: the prefix length after the slash must be a number from 0 to %d"
							.formatted(text, bits));
			}
			boolean mapped = IpLiteral.isIpv4Mapped(address) && prefix >= MAPPED_PREFIX;
			Network network = mapped ? new Network(unmapped(address), prefix - MAPPED_PREFIX)
					: new Network(address, prefix);
			if (!network.equals(network.masked())) {
				throw new IllegalArgumentException(
						"'%s' is not a network: its address has bits beyond the prefix. Write %s for the network, or %s for the address alone"
							.formatted(text, network.masked(), literal));
			}
			return network;
		}

		private Network masked() {
			byte[] masked = new byte[this.address.length];
			for (int i = 0; i < masked.length; i++) {
				masked[i] = (byte) (this.address[i] & mask(i));
			}
			return new Network(masked, this.prefix);
		}

		/** The mask for the bits of a byte that belong to the prefix. */
		private int mask(int index) {
			int bits = Math.max(0, Math.min(8, this.prefix - index * 8));
			return 0xFF00 >> bits & 0xFF;
		}

		boolean contains(byte[] candidate) {
			if (candidate.length != this.address.length) {
				return false;
			}
			for (int i = 0; i < candidate.length; i++) {
				if (((candidate[i] ^ this.address[i]) & mask(i)) != 0) {
					return false;
				}
			}
			return true;
		}

		@Override
		public boolean equals(Object other) {
			return other instanceof Network that && this.prefix == that.prefix
					&& Arrays.equals(this.address, that.address);
		}

		@Override
		public int hashCode() {
			return Arrays.hashCode(this.address) * 31 + this.prefix;
		}

		@Override
		public String toString() {
			return IpLiteral.toAddress(this.address).getHostAddress() + "/" + this.prefix;
		}

	}

}
