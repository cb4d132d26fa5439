package org.leaderfollowers.sample.web;

/**
 * The status codes that the server uses.
 */
enum HttpStatus {

	OK(200, "OK"),

	NOT_MODIFIED(304, "Not Modified"),

	BAD_REQUEST(400, "Bad Request"),

	NOT_FOUND(404, "Not Found"),

	METHOD_NOT_ALLOWED(405, "Method Not Allowed"),

	LENGTH_REQUIRED(411, "Length Required"),

	CONTENT_TOO_LARGE(413, "Content Too Large"),

	HEADER_FIELDS_TOO_LARGE(431, "Request Header Fields Too Large"),

	INTERNAL_SERVER_ERROR(500, "Internal Server Error"),

	VERSION_NOT_SUPPORTED(505, "HTTP Version Not Supported");

	private final String line;

	HttpStatus(int code, String reason) {
		this.line = code + " " + reason;
	}

	/** Code and reason, as they appear in a status line. */
	@Override
	public String toString() {
		return this.line;
	}

}
