package org.leaderfollowers.benchmarks.exchange;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.leaderfollowers.Framing;

/** The part of the protocol of Redis that an ECHO needs. */
final class Resp implements Framing {

	/**
	 * A request.
	 * @param text what to echo
	 */
	static byte[] echo(byte[] text) {
		ByteArrayOutputStream request = new ByteArrayOutputStream(text.length + 32);
		request.writeBytes(("*2\r\n$4\r\nECHO\r\n$" + text.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
		request.writeBytes(text);
		request.write('\r');
		request.write('\n');
		return request.toByteArray();
	}

	/**
	 * The text in a reply.
	 * @param reply "$", a length, a line feed, the text, a line feed
	 */
	static byte[] text(ByteBuffer reply) {
		int start = reply.position();
		int digit = start + 1;
		int length = 0;
		for (; reply.get(digit) != '\r'; digit++) {
			length = length * 10 + reply.get(digit) - '0';
		}
		byte[] text = new byte[length];
		reply.get(digit + 2, text);
		return text;
	}

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		int length = 0;
		for (int i = input.position() + 1; i < input.limit(); i++) {
			byte b = input.get(i);
			if (b == '\r') {
				int frameLength = i + 2 + length + 2 - input.position();
				return (input.remaining() >= frameLength) ? frame.complete(0, frameLength, frameLength)
						: frame.incomplete(0);
			}
			length = length * 10 + b - '0';
		}
		return frame.incomplete(0);
	}

	@Override
	public void encode(ByteBuffer payload, ByteBuffer output) {
		output.put(payload);
	}

	@Override
	public int maxFrameLength(int payloadLength) {
		return payloadLength;
	}

}
