package org.leaderfollowers.spring.test.client;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.util.HexFormat;

/** Formats bytes for the messages of failed tests. */
final class Printable {

	private static final int LONGEST = 400;

	private Printable() {
	}

	static String describe(byte[] bytes, Charset charset) {
		if (bytes.length == 0) {
			return "\"\"";
		}
		try {
			return quote(charset.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
		}
		catch (CharacterCodingException ex) {
			int shown = Math.min(bytes.length, LONGEST / 2);
			return "0x" + HexFormat.of().formatHex(bytes, 0, shown) + rest(shown, bytes.length, "bytes");
		}
	}

	private static String quote(String text) {
		StringBuilder quoted = new StringBuilder("\"");
		int shown = Math.min(text.length(), LONGEST);
		for (int i = 0; i < shown; i++) {
			char c = text.charAt(i);
			switch (c) {
				case '\n' -> quoted.append("\\n");
				case '\r' -> quoted.append("\\r");
				case '\t' -> quoted.append("\\t");
				case '"' -> quoted.append("\\\"");
				case '\\' -> quoted.append("\\\\");
				default -> {
					if (Character.isISOControl(c)) {
						quoted.append("\\u%04x".formatted((int) c));
					}
					else {
						quoted.append(c);
					}
				}
			}
		}
		return quoted.append('"').append(rest(shown, text.length(), "characters")).toString();
	}

	private static String rest(int shown, int length, String unit) {
		return (shown < length) ? "... (%d %s)".formatted(length, unit) : "";
	}

}
