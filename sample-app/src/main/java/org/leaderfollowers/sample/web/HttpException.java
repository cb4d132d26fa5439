package org.leaderfollowers.sample.web;

import java.io.Serial;

import org.leaderfollowers.FramingException;

/**
 * The input is not a request that this server understands. The client gets a response,
 * and then the connection closes, because the bytes that follow may be anything.
 */
class HttpException extends FramingException {

	@Serial
	private static final long serialVersionUID = 1L;

	private final HttpStatus status;

	/**
	 * Creates the exception.
	 * @param status the status of the response
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
