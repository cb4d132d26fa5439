package org.leaderfollowers.spring.test.client;

import java.nio.charset.Charset;

import org.jspecify.annotations.Nullable;

/**
 * What came of waiting for a message.
 *
 * @param outcome what happened
 * @param bytes the message, or what had arrived of it
 * @param detail what else is known, for people
 * @param cause the failure, if there was one
 */
record Reception(Outcome outcome, byte[] bytes, String detail, @Nullable Throwable cause) {

	private static final byte[] NOTHING = {};

	/**
	 * What happened.
	 */
	enum Outcome {

		/** A whole message has arrived. */
		MESSAGE,

		/** No whole message arrived in time. */
		SILENCE,

		/** No message will arrive any more. */
		CLOSED,

		/** Nothing can be received: there is nobody who would send. */
		UNREACHABLE,

		/** What arrived is no message of this framing. */
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

	/**
	 * Tells people what happened, as the second half of a sentence.
	 */
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
