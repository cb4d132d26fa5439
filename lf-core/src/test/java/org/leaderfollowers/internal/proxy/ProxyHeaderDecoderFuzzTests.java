package org.leaderfollowers.internal.proxy;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Stream;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.haproxy.HAProxyMessage;
import io.netty.handler.codec.haproxy.HAProxyMessageDecoder;
import io.netty.handler.codec.haproxy.HAProxyProxiedProtocol;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.FuzzInput;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Damaged headers, judged by {@link ProxyHeaderDecoder} and by Netty's decoder: what we
 * accept, Netty accepts with the same addresses; what we alone refuse, is refused for a
 * reason that the specification gives.
 */
class ProxyHeaderDecoderFuzzTests {

	private static final byte[] BEHIND = ProxyHeaders.ascii("0123456789".repeat(12));

	/**
	 * Why we refuse what Netty accepts. It does not count the end of a line to its
	 * length, reads on over a single carriage return or line feed, ignores spaces at the
	 * end and reads addresses and ports in forms that the specification forbids; it does
	 * not check the checksum, nor that the last vector ends where the header does.
	 */
	private static final List<String> STRICTER = List.of("longer than 107 bytes", "single carriage return or line feed",
			"between single spaces", "is not a valid IPv", "port of version 1", "type-length-value vector", "checksum");

	/** An answer: {@code more}, {@code refused}, or addresses and what was left over. */
	private record Verdict(String answer, String reason) {

		boolean isAccepted() {
			return this.answer.contains(">") || this.answer.startsWith("none");
		}

	}

	/** Valid headers, from which the fuzzer begins. */
	static Stream<byte[]> headers() {
		return ProxyHeaderDecoderTests.valid()
			.map((arguments) -> (byte[]) arguments.get()[1])
			.filter((header) -> header.length < 1000)
			.map((header) -> ProxyHeaders.join(new byte[] { 7, 1 }, header));
	}

	@MethodSource("headers")
	@FuzzTest
	void agreesWithNettyOrIsStricterForAReason(byte[] bytes) {
		FuzzInput choices = new FuzzInput(bytes);
		int cuts = choices.below(256);
		boolean followed = choices.flip();
		byte[] header = choices.rest();
		byte[] input = followed ? ProxyHeaders.join(header, BEHIND) : header;
		if (input.length == 0) {
			return;
		}
		Verdict ours = ours(input, new Random(cuts));
		Verdict theirs = theirs(input, new Random(cuts));
		Supplier<String> what = () -> "%s: %s, Netty: %s".formatted(HexFormat.of().formatHex(input), ours, theirs);
		assertThat(ours.reason()).as(what).matches("[ -~]*");
		if (ours.isAccepted() && !nettyIsStricter(input, ours)) {
			assertThat(theirs.answer()).as(what).isEqualTo(ours.answer());
		}
		if (theirs.isAccepted() && !ours.isAccepted()) {
			assertThat(ours.answer()).as(what).isEqualTo("refused");
			assertThat(STRICTER).as(what).anyMatch(ours.reason()::contains);
		}
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
			// Netty checks IPv6 addresses with zones loosely.
			return "no address > no address";
		}
	}

}
