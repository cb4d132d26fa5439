package org.leaderfollowers;

/**
 * The transport of the messages of a server.
 */
public enum TransportType {

	/** Connections, each a stream of bytes that a {@link Framing} divides. */
	TCP,

	/** Datagrams, each of which is a message. */
	UDP

}
