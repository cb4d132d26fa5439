package org.leaderfollowers.sample.web;

import java.io.IOException;
import java.nio.channels.ReadableByteChannel;

import org.jspecify.annotations.Nullable;

import org.springframework.core.io.Resource;
import org.springframework.util.DigestUtils;

/** A file that the server offers. */
class StaticFile {

	private final Resource resource;

	private final long length;

	private final String etag;

	private final String lastModified;

	private final String validators;

	private final String headers;

	private final byte @Nullable [] content;

	/**
	 * Describes a file in its current state.
	 * @param resource the file
	 * @param contentType its media type
	 * @param cacheLimit the maximum length of a file that is kept in memory
	 * @throws IOException if it cannot be read
	 */
	StaticFile(Resource resource, String contentType, long cacheLimit) throws IOException {
		this.resource = resource;
		this.length = resource.contentLength();
		this.content = (this.length <= cacheLimit) ? resource.getContentAsByteArray() : null;
		// The time alone does not distinguish two builds if both are reproducible.
		String version = (this.content != null) ? DigestUtils.md5DigestAsHex(this.content)
				: Long.toHexString(resource.lastModified());
		this.etag = "\"%s-%x\"".formatted(version, this.length);
		this.lastModified = HttpDate.format(resource.lastModified());
		this.validators = "ETag: %s\r\nLast-Modified: %s\r\nCache-Control: no-cache\r\n".formatted(this.etag,
				this.lastModified);
		this.headers = "Content-Type: %s\r\nContent-Length: %s\r\n%s".formatted(contentType, this.length,
				this.validators);
	}

	/** The header fields that a client can use to ask whether it has the current file. */
	String validators() {
		return this.validators;
	}

	/** The header fields of a response that contains the file. */
	String headers() {
		return this.headers;
	}

	long length() {
		return this.length;
	}

	/** The bytes of a small file, or {@code null} for a file that is streamed. */
	byte @Nullable [] content() {
		return this.content;
	}

	ReadableByteChannel open() throws IOException {
		return this.resource.readableChannel();
	}

	/**
	 * Whether the client has this version of the file already, according to the fields of
	 * its request. RFC 9110 gives the entity tag precedence.
	 */
	boolean isKnownBy(HttpRequest request) {
		String tags = request.header("if-none-match");
		if (tags == null) {
			String since = request.header("if-modified-since");
			return since != null && HttpDate.isNotAfter(this.lastModified, since);
		}
		for (String tag : tags.split(",")) {
			String stripped = tag.strip();
			if (stripped.equals("*") || stripped.equals(this.etag) || stripped.equals("W/" + this.etag)) {
				return true;
			}
		}
		return false;
	}

}
