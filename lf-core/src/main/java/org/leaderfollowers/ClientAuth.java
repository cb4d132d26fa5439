package org.leaderfollowers;

/**
 * Whether clients have to say who they are when TLS is negotiated, by a certificate of
 * their own.
 */
public enum ClientAuth {

	/** No certificate is asked for. */
	NONE,

	/**
	 * A certificate is asked for and may be missing. One that is sent must be trusted, or
	 * the handshake fails.
	 */
	WANT,

	/** Without a trusted certificate the handshake fails. */
	NEED

}
