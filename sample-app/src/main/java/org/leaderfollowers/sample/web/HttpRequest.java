package org.leaderfollowers.sample.web;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import org.springframework.util.StringUtils;

/**
 * The head of a request.
 *
 * @param method the method, for example {@code GET}
 * @param target the target of the request line, not decoded
 * @param persistentByDefault whether the connection persists unless the client says
 * otherwise, as in HTTP/1.1
 * @param headers the header fields, by names in lower case; the values of fields that
 * repeat are joined by commas
 */
record HttpRequest(String method, String target, boolean persistentByDefault, Map<String, String> headers) {

	private static final String TOKEN_MARKS = "!#$%&'*+-.^_`|~";

	/** The maximum number of digits of a length that fits into a {@code long}. */
	private static final int MAX_DIGITS = 18;

	/**
	 * Reads the head of a request.
	 * @param head with its empty line; each line ends with CR and LF
	 * @return the request
	 * @throws HttpException if the head is not valid
	 */
	static HttpRequest parse(String head) {
		int end = head.indexOf("\r\n");
		String[] line = head.substring(0, end).split(" ", -1);
		if (line.length != 3 || !isToken(line[0]) || !isVisible(line[1]) || !line[2].matches("HTTP/[0-9]\\.[0-9]")) {
			throw invalid("The request line is not a method, a target and a version with a space between each");
		}
		if (!line[2].startsWith("HTTP/1.")) {
			throw new HttpException(HttpStatus.VERSION_NOT_SUPPORTED, "The server speaks HTTP/1.0 and HTTP/1.1");
		}
		HttpRequest request = new HttpRequest(line[0], line[1], !line[2].equals("HTTP/1.0"), headers(head, end + 2));
		String host = request.headers.get("host");
		if ((host != null) ? host.contains(",") : request.persistentByDefault) {
			throw invalid("A request needs one Host field");
		}
		return request;
	}

	private static Map<String, String> headers(String head, int start) {
		Map<String, String> headers = new HashMap<>();
		int at = start;
		for (int end = head.indexOf("\r\n", at); end > at; end = head.indexOf("\r\n", at)) {
			int colon = head.indexOf(':', at);
			if (colon < 0 || colon > end || !isToken(head.substring(at, colon))) {
				throw invalid("A header field is not a name, a colon and a value");
			}
			String value = head.substring(colon + 1, end);
			// Before stripping, which would also remove most control characters.
			if (!value.chars().allMatch((c) -> c >= ' ' && c != 0x7f || c == '\t')) {
				throw invalid("A header field contains a control character");
			}
			headers.merge(head.substring(at, colon).toLowerCase(Locale.ROOT), value.strip(),
					(first, second) -> first + ", " + second);
			at = end + 2;
		}
		return headers;
	}

	/**
	 * How many bytes of body follow the head.
	 * @return 0 if there is no body
	 * @throws HttpException if the length is missing or not a number
	 */
	long contentLength() {
		String length = this.headers.get("content-length");
		if (this.headers.containsKey("transfer-encoding")) {
			throw (length != null) ? invalid("A request has a Content-Length or a Transfer-Encoding, but not both")
					: new HttpException(HttpStatus.LENGTH_REQUIRED, "A body must come with its Content-Length");
		}
		if (length == null) {
			return 0;
		}
		if (length.isEmpty() || !length.chars().allMatch((c) -> c >= '0' && c <= '9')) {
			throw invalid("Content-Length is not a number");
		}
		return (length.length() <= MAX_DIGITS) ? Long.parseLong(length) : Long.MAX_VALUE / 2;
	}

	/**
	 * The path that the target names.
	 * @return decoded, from the first slash, without the query
	 * @throws HttpException if the target contains no path
	 */
	String path() {
		String path = this.target;
		int authority = path.startsWith("/") ? -1 : path.indexOf("://");
		if (authority > 0) {
			int slash = path.indexOf('/', authority + 3);
			path = (slash > 0) ? path.substring(slash) : "/";
		}
		if (!path.startsWith("/")) {
			throw invalid("The target is neither a path nor a URL");
		}
		int query = path.indexOf('?');
		try {
			return StringUtils.uriDecode((query >= 0) ? path.substring(0, query) : path, StandardCharsets.UTF_8);
		}
		catch (IllegalArgumentException ex) {
			throw invalid("The target has a percent sign without two hexadecimal digits");
		}
	}

	/** Whether the client keeps the connection open for further requests. */
	boolean isPersistent() {
		String connection = this.headers.get("connection");
		if (connection == null) {
			return this.persistentByDefault;
		}
		return this.persistentByDefault ? !hasOption(connection, "close") : hasOption(connection, "keep-alive");
	}

	private static boolean hasOption(String list, String option) {
		for (String element : list.split(",")) {
			if (element.strip().equalsIgnoreCase(option)) {
				return true;
			}
		}
		return false;
	}

	@Nullable String header(String lowerCaseName) {
		return this.headers.get(lowerCaseName);
	}

	private static boolean isToken(String text) {
		return !text.isEmpty() && text.chars()
			.allMatch((c) -> c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
					|| TOKEN_MARKS.indexOf(c) >= 0);
	}

	private static boolean isVisible(String text) {
		return !text.isEmpty() && text.chars().allMatch((c) -> c > ' ' && c < 0x7f);
	}

	private static HttpException invalid(String reason) {
		return new HttpException(HttpStatus.BAD_REQUEST, reason);
	}

}
