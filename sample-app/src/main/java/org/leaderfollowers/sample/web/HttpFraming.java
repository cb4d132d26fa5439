package org.leaderfollowers.sample.web;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.leaderfollowers.Framing;

import org.springframework.stereotype.Component;

/**
 * Finds the requests of HTTP/1.0 and HTTP/1.1 in the input of a client. The message is
 * the head of a request, from its request line to the empty line. A body, which requests
 * for files do not need, is skipped. A request with its body must not exceed the maximum
 * message size. Responses are sent without changes.
 */
// tag::framing[]
@Component
class HttpFraming implements Framing {

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		int start = skipEmptyLines(input, frame);
		int head = endOfHead(input, Math.max(start, frame.scanned()), searched(input, frame), start) - start;
		if (head < 0) {
			if (searched(input, frame) == frame.maxMessageSize()) {
				throw new HttpException(HttpStatus.HEADER_FIELDS_TOO_LARGE,
						"The head of a request is larger than %d bytes".formatted(frame.maxMessageSize()));
			}
			return frame.incomplete(input.remaining());
		}
		long length = start + head + HttpRequest.parse(text(input, start, head)).contentLength();
		if (length > frame.maxMessageSize()) {
			throw new HttpException(HttpStatus.CONTENT_TOO_LARGE,
					"A request is larger than %d bytes".formatted(frame.maxMessageSize()));
		}
		return (length <= input.remaining()) ? frame.complete(start, head, (int) length)
				: frame.incomplete(start + head - 1, length);
	}
	// end::framing[]

	/** A head must end within the maximum message size, however much has arrived. */
	private static int searched(ByteBuffer input, Frame frame) {
		return Math.min(input.remaining(), frame.maxMessageSize());
	}

	/** Skips empty lines before the request line, as RFC 9112 recommends. */
	private static int skipEmptyLines(ByteBuffer input, Frame frame) {
		int length = searched(input, frame);
		int start = 0;
		while (start + 1 < length && at(input, start) == '\r' && at(input, start + 1) == '\n') {
			start += 2;
		}
		return start;
	}

	/**
	 * Searches for the empty line, starting at a line feed that may end it.
	 * @return the offset behind it, or -1
	 */
	private static int endOfHead(ByteBuffer input, int from, int to, int start) {
		for (int i = from; i < to; i++) {
			if (at(input, i) == '\n') {
				if (i == start || at(input, i - 1) != '\r') {
					throw new HttpException(HttpStatus.BAD_REQUEST, "A line ends without a carriage return");
				}
				if (i - start >= 3 && at(input, i - 2) == '\n') {
					return i + 1;
				}
			}
		}
		return -1;
	}

	private static byte at(ByteBuffer input, int offset) {
		return input.get(input.position() + offset);
	}

	private static String text(ByteBuffer input, int offset, int length) {
		byte[] bytes = new byte[length];
		input.get(input.position() + offset, bytes);
		return new String(bytes, StandardCharsets.ISO_8859_1);
	}

	// tag::framing[]

	@Override
	public void encode(ByteBuffer payload, ByteBuffer output) {
		output.put(payload);
	}

	@Override
	public int maxFrameLength(int payloadLength) {
		return payloadLength;
	}

	@Override
	public String toString() {
		return "http";
	}

}
// end::framing[]
