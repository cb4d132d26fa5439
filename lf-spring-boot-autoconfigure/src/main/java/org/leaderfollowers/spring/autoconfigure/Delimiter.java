package org.leaderfollowers.spring.autoconfigure;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * The bytes of a delimiter that a property contains. Line ends and control characters can
 * be escaped, because not all formats of property files preserve them.
 */
final class Delimiter {

	private static final String HEXADECIMAL = "0x";

	private Delimiter() {
	}

	static byte[] parse(String value) {
		if (value.isEmpty()) {
			throw new IllegalArgumentException("Must not be empty");
		}
		if (value.startsWith(HEXADECIMAL)) {
			return hexadecimal(value.substring(HEXADECIMAL.length()));
		}
		return unescape(value).getBytes(StandardCharsets.UTF_8);
	}

	private static byte[] hexadecimal(String digits) {
		try {
			byte[] bytes = HexFormat.of().parseHex(digits);
			if (bytes.length > 0) {
				return bytes;
			}
		}
		catch (IllegalArgumentException ex) {
			// Reported below.
		}
		throw new IllegalArgumentException("Must have two hexadecimal digits for each byte after '0x'");
	}

	private static String unescape(String value) {
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < value.length(); i++) {
			char character = value.charAt(i);
			if (character != '\\') {
				text.append(character);
				continue;
			}
			i++;
			char escape = (i < value.length()) ? value.charAt(i) : ' ';
			switch (escape) {
				case 'r' -> text.append('\r');
				case 'n' -> text.append('\n');
				case 't' -> text.append('\t');
				case '0' -> text.append('\0');
				case '\\' -> text.append('\\');
				case 'u' -> {
					text.append(unicode(value, i + 1));
					i += 4;
				}
				default -> throw new IllegalArgumentException(
						"A backslash must be followed by 'r', 'n', 't', '0', another backslash, "
								+ "or 'u' and four hexadecimal digits");
			}
		}
		return text.toString();
	}

	private static char unicode(String value, int start) {
		try {
			return (char) HexFormat.fromHexDigits(value, start, start + 4);
		}
		catch (IllegalArgumentException | IndexOutOfBoundsException ex) {
			throw new IllegalArgumentException("'\\u' must be followed by four hexadecimal digits", ex);
		}
	}

}
