package org.leaderfollowers;

/**
 * Whether clients have to authenticate in the TLS handshake, by a certificate of their
 * own.
 */
public enum ClientAuth {

	/** The server requests no certificate. */
	NONE,

	/**
	 * The server requests a certificate, which may be missing. If the client sends one
	 * that is not trusted, the handshake fails.
	 */
	WANT,

	/** The server requires a trusted certificate; otherwise the handshake fails. */
	NEED

}
