package org.leaderfollowers.internal.proxy;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Supplier;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.haproxy.HAProxyMessage;
import io.netty.handler.codec.haproxy.HAProxyMessageDecoder;
import io.netty.handler.codec.haproxy.HAProxyProxiedProtocol;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Damaged headers, judged by {@link ProxyHeaderDecoder} and by Netty's decoder: what we
 * accept, Netty accepts with the same addresses; what we alone refuse, is refused for a
 * reason that the specification gives.
 */
class ProxyHeaderDecoderFuzzTests {

	private static final byte[] BEHIND = ProxyHeaders.ascii("0123456789".repeat(12));

	private static final byte[] TELLING = ProxyHeaders.ascii(" \r\n.:019afTUPK\0\u0001\u0003\u0011\u0012!\u007f\u00ff");

	/**
	 * Why we refuse what Netty accepts. It does not count the end of a line to its
	 * length, reads on over a single carriage return or line feed, ignores spaces at the
	 * end and reads addresses and ports in forms that the specification forbids; it does
	 * not check the checksum, nor that the last vector ends where the header does.
	 */
	private static final List<String> STRICTER = List.of("longer than 107 bytes", "single carriage return or line feed",
			"between single spaces", "is not a valid IPv", "port of version 1", "type-length-value vector", "checksum");

	private final Random random = new Random(20261121);

	/** An answer: {@code more}, {@code refused}, or addresses and what was left over. */
	private record Verdict(String answer, String reason) {

		boolean isAccepted() {
			return this.answer.contains(">") || this.answer.startsWith("none");
		}

	}

	@Test
	void agreesWithNettyOrIsStricterForAReason() {
		compare(5_000);
	}

	@Tag("stress")
	@Test
	void agreesWithNettyOrIsStricterForAReasonForLong() {
		compare(30_000);
	}

	private void compare(int rounds) {
		List<byte[]> seeds = ProxyHeaderDecoderTests.valid()
			.map((arguments) -> (byte[]) arguments.get()[1])
			.filter((header) -> header.length < 1000)
			.toList();
		Map<String, Integer> outcomes = new TreeMap<>();
		for (int round = 0; round < rounds; round++) {
			byte[] seed = seeds.get(this.random.nextInt(seeds.size()));
			byte[] other = seeds.get(this.random.nextInt(seeds.size()));
			byte[] input = mutate(seed, other);
			if (this.random.nextInt(8) > 0) {
				input = ProxyHeaders.join(input, BEHIND);
			}
			long cuts = this.random.nextLong();
			Verdict ours = ours(input, new Random(cuts));
			Verdict theirs = theirs(input, new Random(cuts));
			Supplier<String> what = describe(round, input, ours, theirs);
			if (ours.isAccepted() && !nettyIsStricter(input, ours)) {
				assertThat(theirs.answer()).as(what).isEqualTo(ours.answer());
			}
			if (theirs.isAccepted() && !ours.isAccepted()) {
				assertThat(ours.answer()).as(what).isEqualTo("refused");
				assertThat(STRICTER).as(what).anyMatch(ours.reason()::contains);
			}
			String outcome = "ours " + (ours.isAccepted() ? "accepted" : ours.answer()) + ", Netty's "
					+ (theirs.isAccepted() ? "accepted" : theirs.answer());
			outcomes.merge(outcome, 1, Integer::sum);
		}
		// Or nothing was compared.
		assertThat(outcomes.get("ours accepted, Netty's accepted")).as("%s", outcomes).isGreaterThan(rounds / 10);
		assertThat(outcomes.get("ours refused, Netty's refused")).as("%s", outcomes).isGreaterThan(rounds / 10);
		assertThat(outcomes.get("ours refused, Netty's accepted")).as("%s", outcomes).isBetween(1, rounds / 10);
	}

	private static Supplier<String> describe(int round, byte[] input, Verdict ours, Verdict theirs) {
		return () -> "round %d: %s: %s, Netty: %s".formatted(round, HexFormat.of().formatHex(input), ours, theirs);
	}

	/**
	 * Netty refuses, in version 1, the port 0 and most of the IPv6 addresses that end
	 * with an IPv4 address, which the specification and {@code inet_pton} allow. In
	 * version 2 it reads the information on SSL and refuses what is wrong in it; we skip
	 * what we do not use.
	 */
	private static boolean nettyIsStricter(byte[] input, Verdict ours) {
		if (input[0] == 'P') {
			String line = new String(input, StandardCharsets.ISO_8859_1);
			return ours.answer().matches(".*:0[ ,].*") || line.matches("(?s)PROXY TCP6 [^\\r]*\\..*");
		}
		return Arrays.toString(input).contains(" 32,");
	}

	private byte[] mutate(byte[] seed, byte[] other) {
		byte[] bytes = seed.clone();
		for (int i = this.random.nextInt(4); i > 0 && bytes.length > 1; i--) {
			int at = this.random.nextInt(bytes.length);
			byte telling = TELLING[this.random.nextInt(TELLING.length)];
			switch (this.random.nextInt(7)) {
				case 0 -> bytes[at] ^= (byte) (1 << this.random.nextInt(8));
				case 1 -> bytes[at] = telling;
				case 2 -> bytes[at]++;
				case 3 -> bytes = splice(bytes, at, new byte[] { telling }, 0);
				case 4 -> bytes = splice(bytes, at, new byte[0], 1 + this.random.nextInt(3));
				case 5 -> {
					int from = this.random.nextInt(other.length);
					int to = Math.min(other.length, from + 1 + this.random.nextInt(12));
					bytes = splice(bytes, at, Arrays.copyOfRange(other, from, to), this.random.nextInt(12));
				}
				default -> bytes[Math.min(bytes.length - 1, 12 + this.random.nextInt(40))] = telling;
			}
		}
		return bytes;
	}

	private static byte[] splice(byte[] bytes, int at, byte[] inserted, int removed) {
		return ProxyHeaders.join(Arrays.copyOf(bytes, at), inserted,
				Arrays.copyOfRange(bytes, Math.min(bytes.length, at + removed), bytes.length));
	}

	private static Verdict ours(byte[] input, Random cuts) {
		ProxyHeaderDecoder decoder = new ProxyHeaderDecoder();
		int at = 0;
		try {
			while (at < input.length) {
				int count = Math.min(input.length - at, 1 + cuts.nextInt(40));
				assertThat(decoder.missing()).isPositive();
				ByteBuffer piece = ByteBuffer.wrap(input, at, count);
				boolean complete = decoder.decode(piece);
				at = piece.position();
				if (complete) {
					return new Verdict(
							ProxyHeaderDecoderTests.text(decoder.header()) + ", " + (input.length - at) + " left", "");
				}
				assertThat(piece.hasRemaining()).isFalse();
			}
			return new Verdict("more", "");
		}
		catch (ProxyHeaderException ex) {
			return new Verdict("refused", String.valueOf(ex.getMessage()));
		}
	}

	private static Verdict theirs(byte[] input, Random cuts) {
		EmbeddedChannel channel = new EmbeddedChannel(new HAProxyMessageDecoder());
		try {
			int at = 0;
			while (at < input.length) {
				int count = Math.min(input.length - at, 1 + cuts.nextInt(40));
				channel.writeInbound(Unpooled.copiedBuffer(input, at, count));
				at += count;
				Object message = channel.readInbound();
				if (message instanceof HAProxyMessage header) {
					String addresses = text(header);
					header.release();
					return new Verdict(addresses + ", " + (leftOver(channel) + input.length - at) + " left", "");
				}
			}
			return new Verdict("more", "");
		}
		catch (DecoderException ex) {
			return new Verdict("refused", String.valueOf(ex.getMessage()));
		}
		finally {
			try {
				channel.finishAndReleaseAll();
			}
			catch (DecoderException ex) {
				// A header that the end of the input tears was not accepted before.
			}
		}
	}

	private static int leftOver(EmbeddedChannel channel) {
		int bytes = 0;
		for (Object left = channel.readInbound(); left != null; left = channel.readInbound()) {
			bytes += ((ByteBuf) left).readableBytes();
			((ByteBuf) left).release();
		}
		return bytes;
	}

	private static String text(HAProxyMessage header) {
		HAProxyProxiedProtocol protocol = header.proxiedProtocol();
		if (header.sourceAddress() == null
				|| protocol.addressFamily() == HAProxyProxiedProtocol.AddressFamily.AF_UNIX) {
			return "none";
		}
		try {
			return ProxyHeaderDecoderTests.text(new ProxyHeader(
					new InetSocketAddress(InetAddress.getByName(header.sourceAddress()), header.sourcePort()),
					new InetSocketAddress(InetAddress.getByName(header.destinationAddress()),
							header.destinationPort())));
		}
		catch (UnknownHostException ex) {
			throw new AssertionError("not an address", ex);
		}
	}

}
