package org.leaderfollowers.docs;

import java.nio.ByteBuffer;

import org.leaderfollowers.Framing;
import org.leaderfollowers.FramingException;

import org.springframework.stereotype.Component;

/**
 * The requests of the Redis protocol (RESP): arrays of strings, each behind its length,
 * or a line of words as a person types it. Handlers see the whole request, and send whole
 * replies.
 */
// tag::framing[]
@Component("resp")
class RespFraming implements Framing {

	private static final int MAX_ELEMENTS = 1024;

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		Cursor cursor = new Cursor(input);
		if (input.get(input.position()) != '*') {
			return cursor.skipLine() ? cursor.complete(frame) : cursor.incomplete(frame, 0);
		}
		long elements = cursor.number('*', MAX_ELEMENTS);
		for (long i = 0; i < elements; i++) {
			long length = cursor.number('$', frame.maxMessageSize());
			if (length < 0 || !cursor.skip(length + 2)) {
				return cursor.incomplete(frame, length + 2);
			}
		}
		return (elements < 0) ? cursor.incomplete(frame, 0) : cursor.complete(frame);
	}

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
		return "resp";
	}

	private static final class Cursor {

		private final ByteBuffer input;

		private int next;

		Cursor(ByteBuffer input) {
			this.input = input;
			this.next = input.position();
		}

		/** Returns the number of a line such as "$3", or -1 if its end has not come. */
		long number(char type, int max) {
			if (this.next == this.input.limit()) {
				return -1;
			}
			if (this.input.get(this.next) != type) {
				throw new FramingException("A request must have '%s' at %d".formatted(type, offset()));
			}
			long number = 0;
			int digits = this.next + 1;
			for (int i = digits; i < this.input.limit(); i++) {
				byte b = this.input.get(i);
				if (b == '\r' && i > digits) {
					this.next = i + 2;
					return (i + 1 < this.input.limit()) ? number : -1;
				}
				number = number * 10 + b - '0';
				if (b < '0' || b > '9' || number > max) {
					throw new FramingException("A length must be a number up to %d, at %d".formatted(max, offset()));
				}
			}
			return -1;
		}

		boolean skip(long length) {
			if (this.input.limit() - this.next < length) {
				return false;
			}
			this.next += (int) length;
			return true;
		}

		boolean skipLine() {
			while (this.next < this.input.limit()) {
				if (this.input.get(this.next++) == '\n') {
					return true;
				}
			}
			return false;
		}

		boolean complete(Frame frame) {
			return frame.complete(0, offset(), offset());
		}

		/**
		 * Tells how long the message will be at least, so that it can be refused early.
		 */
		boolean incomplete(Frame frame, long missing) {
			return frame.incomplete(0, offset() + Math.max(0, missing));
		}

		private int offset() {
			return this.next - this.input.position();
		}

	}

}
// end::framing[]
