package org.leaderfollowers.docs;

import java.nio.ByteBuffer;

import org.leaderfollowers.Framing;
import org.leaderfollowers.FramingException;

import org.springframework.stereotype.Component;

// tag::framing[]
@Component("stxEtx")
public class StxEtxFraming implements Framing {

	private static final byte STX = 0x02;

	private static final byte ETX = 0x03;

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		int start = input.position();
		if (input.get(start) != STX) {
			throw new FramingException("A message must begin with STX");
		}
		for (int i = Math.max(1, frame.scanned()); i < input.remaining(); i++) {
			if (input.get(start + i) == ETX) {
				return frame.complete(1, i - 1, i + 1);
			}
		}
		return frame.incomplete(input.remaining());
	}

	@Override
	public void encode(ByteBuffer payload, ByteBuffer output) {
		output.put(STX).put(payload).put(ETX);
	}

	@Override
	public int maxFrameLength(int payloadLength) {
		return payloadLength + 2;
	}

	@Override
	public String toString() {
		return "stx-etx";
	}

}
// end::framing[]
