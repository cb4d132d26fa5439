package org.leaderfollowers.spring.handler;

/**
 * Names for {@link org.springframework.messaging.handler.annotation.Header @Header}
 * parameters that supply properties of a connection. Any other name denotes an
 * {@linkplain org.leaderfollowers.Connection#attributes() attribute} of the connection.
 */
public final class LfHeaders {

	/** The prefix of all names in this class: {@value}. */
	public static final String PREFIX = "lf_";

	/**
	 * The {@link org.leaderfollowers.Connection} itself, for argument resolvers and
	 * return value handlers, which get a message and no connection.
	 */
	public static final String CONNECTION = PREFIX + "connection";

	/** The number of the connection within its server, a {@code long}. */
	public static final String CONNECTION_ID = PREFIX + "connectionId";

	/**
	 * The {@linkplain org.leaderfollowers.Connection#name() name} of the connection, a
	 * {@code String}. Missing if the connection has no name.
	 */
	public static final String CONNECTION_NAME = PREFIX + "connectionName";

	/** The name of the server, a {@code String}. */
	public static final String SERVER = PREFIX + "server";

	/**
	 * The address of the client: an {@link java.net.InetSocketAddress}, an
	 * {@link java.net.InetAddress}, or a {@code String} such as {@code 192.0.2.1:4711}.
	 */
	public static final String REMOTE_ADDRESS = PREFIX + "remoteAddress";

	/** The address that the client connected to, of the same types. */
	public static final String LOCAL_ADDRESS = PREFIX + "localAddress";

	/**
	 * The address of the other end of the socket, of the same types: that of a load
	 * balancer, if the PROXY protocol has told the address of the client.
	 */
	public static final String TRANSPORT_ADDRESS = PREFIX + "transportAddress";

	/**
	 * The client, a {@link java.security.Principal}: the value that a
	 * {@linkplain org.leaderfollowers.spring.annotation.OnLogin login} has put into the
	 * attributes of the connection under this name, or else the subject of the
	 * certificate of the client. Missing if the client has neither.
	 */
	public static final String PRINCIPAL = PREFIX + "principal";

	private LfHeaders() {
	}

}
