package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/**
 * Text in the charset of a server. Bytes and characters that are invalid in the charset
 * are rejected, not replaced.
 */
final class Text {

	private static final char REPLACEMENT = '\uFFFD';

	private final Charset charset;

	private final boolean encodesEverything;

	Text(Charset charset) {
		this.charset = charset;
		this.encodesEverything = charset.name().startsWith("UTF-");
	}

	Charset charset() {
		return this.charset;
	}

	boolean isUtf8() {
		return this.charset.equals(StandardCharsets.UTF_8);
	}

	static String utf8(byte[] bytes) {
		return new String(bytes, StandardCharsets.UTF_8);
	}

	/** Copies the bytes of a message without changing its position. */
	static byte[] bytes(ByteBuffer message) {
		byte[] bytes = new byte[message.remaining()];
		message.get(message.position(), bytes);
		return bytes;
	}

	String decode(ByteBuffer message) {
		return decode(bytes(message));
	}

	String decode(byte[] bytes) {
		// Strings decode much faster; a CharsetDecoder is needed only to find errors.
		String text = new String(bytes, this.charset);
		if (text.indexOf(REPLACEMENT) >= 0) {
			try {
				return this.charset.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
			}
			catch (CharacterCodingException ex) {
				throw new PayloadConversionException(
						"A message of %d bytes is no text in the charset %s".formatted(bytes.length, this.charset), ex);
			}
		}
		return text;
	}

	ByteBuffer encode(String text) {
		if (this.encodesEverything) {
			return ByteBuffer.wrap(text.getBytes(this.charset));
		}
		try {
			return this.charset.newEncoder().encode(CharBuffer.wrap(text));
		}
		catch (CharacterCodingException ex) {
			throw new PayloadConversionException("A reply of %d characters has some that the charset %s has not"
				.formatted(text.length(), this.charset), ex);
		}
	}

}
