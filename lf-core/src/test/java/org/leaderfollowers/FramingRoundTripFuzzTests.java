package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

import com.code_intelligence.jazzer.junit.FuzzTest;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any payloads, with any built-in framing: the peer reads what was sent, or it is not
 * sent.
 */
class FramingRoundTripFuzzTests {

	@FuzzTest
	void payloadsThatAreEncodedAreDecoded(byte[] bytes) {
		FuzzInput input = new FuzzInput(bytes);
		FuzzedFraming chosen = FuzzedFraming.choose(input);
		if (chosen == null) {
			return;
		}
		int bufferSize = 16 << input.below(5);
		FuzzInput splits = new FuzzInput(input.bytes(input.below(16)));
		FuzzInput choices = new FuzzInput(input.bytes(input.below(16)));
		List<String> sent = new ArrayList<>();
		ByteBuffer stream = ByteBuffer.allocate(4 * bytes.length + 4096);
		while (input.hasMore() && sent.size() < 32) {
			byte[] payload = payload(chosen, input);
			if (payload.length <= chosen.maxMessageSize && encode(chosen.framing, payload, stream)) {
				sent.add(HexFormat.of().formatHex(payload));
			}
		}
		byte[] all = new byte[stream.position()];
		stream.flip().get(all);
		String expected = (chosen.separates ? sent : List.of(String.join("", sent))) + ", open";
		assertThat(FuzzedDecoding.whole(chosen, false, all).observed()).as("%s", chosen.framing).isEqualTo(expected);
		assertThat(FuzzedDecoding.inPieces(chosen, true, bufferSize, all, () -> splits.below(256), choices).observed())
			.as("%s in pieces", chosen.framing)
			.isEqualTo(expected);
	}

	private static byte[] payload(FuzzedFraming chosen, FuzzInput input) {
		byte[] text = input.bytes(input.below(200));
		if (chosen.framing == Framing.resp()) {
			// The framing sends payloads as they are.
			return concatenate(("$" + text.length + "\r\n").getBytes(StandardCharsets.US_ASCII), text,
					new byte[] { '\r', '\n' });
		}
		if (chosen.framing.toString().equals("line") && text.length > 0 && text[text.length - 1] == '\r') {
			// The framing documents that it removes this byte.
			text[text.length - 1] = ' ';
		}
		return text;
	}

	private static byte[] concatenate(byte[]... parts) {
		ByteBuffer all = ByteBuffer.allocate(1024);
		for (byte[] part : parts) {
			all.put(part);
		}
		byte[] bytes = new byte[all.position()];
		all.flip().get(bytes);
		return bytes;
	}

	/** Returns whether the framing can express the payload. */
	private static boolean encode(Framing framing, byte[] payload, ByteBuffer stream) {
		int start = stream.position();
		int most = framing.maxFrameLength(payload.length);
		ByteBuffer source = ByteBuffer.wrap(payload);
		try {
			framing.encode(source, stream.limit(start + most));
		}
		catch (IllegalArgumentException ex) {
			stream.clear().position(start);
			return false;
		}
		stream.limit(stream.capacity());
		assertThat(source.hasRemaining()).as("bytes that were not encoded").isFalse();
		return true;
	}

}
