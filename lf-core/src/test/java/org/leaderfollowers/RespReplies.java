package org.leaderfollowers;

import java.nio.ByteBuffer;

/**
 * The replies of Redis (RESP 2): a line, or bytes behind their length, or several of
 * them. A client sees the whole reply, and sends whole requests.
 */
final class RespReplies implements Framing {

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		int start = input.position();
		int end = end(input, start);
		return (end < 0) ? frame.incomplete(0) : frame.complete(0, end - start, end - start);
	}

	/** Returns where the reply ends, or -1 if it is not complete. */
	private static int end(ByteBuffer input, int start) {
		int line = endOfLine(input, start);
		if (line < 0) {
			return -1;
		}
		return switch (input.get(start)) {
			case '$' -> {
				int length = number(input, start + 1);
				int end = (length < 0) ? line : line + length + 2;
				yield (end <= input.limit()) ? end : -1;
			}
			case '*' -> {
				int next = line;
				for (int i = number(input, start + 1); i > 0 && next >= 0; i--) {
					next = (next < input.limit()) ? end(input, next) : -1;
				}
				yield next;
			}
			default -> line;
		};
	}

	private static int endOfLine(ByteBuffer input, int start) {
		for (int i = start; i < input.limit(); i++) {
			if (input.get(i) == '\n') {
				return i + 1;
			}
		}
		return -1;
	}

	private static int number(ByteBuffer input, int start) {
		if (input.get(start) == '-') {
			return -1;
		}
		int number = 0;
		for (int i = start; input.get(i) != '\r'; i++) {
			number = number * 10 + input.get(i) - '0';
		}
		return number;
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
