package org.leaderfollowers.sample.web;

import java.io.IOException;
import java.nio.channels.ReadableByteChannel;

import org.jspecify.annotations.Nullable;

import org.springframework.core.io.Resource;
import org.springframework.util.DigestUtils;

/**
 * A file that can be asked for.
 */
class StaticFile {

	private final Resource resource;

	private final long length;

	private final String etag;

	private final String lastModified;

	private final String validators;

	private final String headers;

	private final byte @Nullable [] content;

	/**
	 * Describes a file as it is now.
	 * @param resource where it is
	 * @param contentType its media type
	 * @param cacheLimit the length of the largest file that is kept in memory
	 * @throws IOException if it cannot be read
	 */
	StaticFile(Resource resource, String contentType, long cacheLimit) throws IOException {
		this.resource = resource;
		this.length = resource.contentLength();
		this.content = (this.length <= cacheLimit) ? resource.getContentAsByteArray() : null;
		// The time alone does not tell two builds apart if both are reproducible.
		String version = (this.content != null) ? DigestUtils.md5DigestAsHex(this.content)
				: Long.toHexString(resource.lastModified());
		this.etag = "\"%s-%x\"".formatted(version, this.length);
		this.lastModified = HttpDate.format(resource.lastModified());
		this.validators = "ETag: %s\r\nLast-Modified: %s\r\nCache-Control: no-cache\r\n".formatted(this.etag,
				this.lastModified);
		this.headers = "Content-Type: %s\r\nContent-Length: %d\r\n%s".formatted(contentType, this.length,
				this.validators);
	}

	/** The header fields by which a client can ask whether it has the file already. */
	String validators() {
		return this.validators;
	}

	/** The header fields of a response that has the file. */
	String headers() {
		return this.headers;
	}

	long length() {
		return this.length;
	}

	/** The bytes of a small file, {@code null} for one that is to be streamed. */
	byte @Nullable [] content() {
		return this.content;
	}

	ReadableByteChannel open() throws IOException {
		return this.resource.readableChannel();
	}

	/**
	 * Whether the client has this very file already, by what it was told when it got it.
	 * By RFC 9110 the entity tag decides if there is one.
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
