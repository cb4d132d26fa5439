package org.leaderfollowers.spring.test.client;

import java.nio.charset.Charset;

import org.jspecify.annotations.Nullable;

/**
 * The result of waiting for a message.
 *
 * @param outcome the kind of result
 * @param bytes the message, or the part of it that had arrived
 * @param detail further information for the message of a failure
 * @param cause the failure, or {@code null}
 */
record Reception(Outcome outcome, byte[] bytes, String detail, @Nullable Throwable cause) {

	private static final byte[] NOTHING = {};

	/** The kinds of results. */
	enum Outcome {

		/** A complete message has arrived. */
		MESSAGE,

		/** No complete message has arrived in time. */
		SILENCE,

		/** No further message can arrive. */
		CLOSED,

		/** Nothing can be received, because the server cannot be reached. */
		UNREACHABLE,

		/** The received bytes are not a message of the framing. */
		MALFORMED

	}

	static Reception message(byte[] message) {
		return new Reception(Outcome.MESSAGE, message, "", null);
	}

	static Reception silence(byte[] begun) {
		return new Reception(Outcome.SILENCE, begun, "", null);
	}

	static Reception closed(byte[] begun, String detail, @Nullable Throwable cause) {
		return new Reception(Outcome.CLOSED, begun, detail, cause);
	}

	static Reception malformed(byte[] bytes, Throwable cause) {
		return new Reception(Outcome.MALFORMED, bytes, "", cause);
	}

	static Reception nothing() {
		return silence(NOTHING);
	}

	boolean isMessage() {
		return this.outcome == Outcome.MESSAGE;
	}

	/** Describes the result as the second half of a sentence. */
	String describe(Charset charset) {
		String text = switch (this.outcome) {
			case MESSAGE -> "received " + Printable.describe(this.bytes, charset);
			case SILENCE -> "received nothing";
			case CLOSED -> "the server closed the connection" + this.detail;
			case UNREACHABLE -> "the server cannot be reached";
			case MALFORMED -> "received what is no message of this framing: " + Printable.describe(this.bytes, charset);
		};
		if ((this.outcome == Outcome.SILENCE || this.outcome == Outcome.CLOSED) && this.bytes.length > 0) {
			text += ", after %d bytes of a message that is not whole: %s".formatted(this.bytes.length,
					Printable.describe(this.bytes, charset));
		}
		return (this.cause != null) ? text + " (" + this.cause + ")" : text;
	}

}
