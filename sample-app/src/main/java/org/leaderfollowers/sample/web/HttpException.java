package org.leaderfollowers.sample.web;

import java.io.Serial;

import org.leaderfollowers.FramingException;

/**
 * The input is no request that this server understands. It is answered, and then the
 * connection closes: what follows may be anything.
 */
class HttpException extends FramingException {

	@Serial
	private static final long serialVersionUID = 1L;

	private final HttpStatus status;

	/**
	 * Creates the exception.
	 * @param status tells the client
	 * @param reason what is wrong, in words for the client
	 */
	HttpException(HttpStatus status, String reason) {
		super(reason);
		this.status = status;
	}

	HttpStatus status() {
		return this.status;
	}

}
