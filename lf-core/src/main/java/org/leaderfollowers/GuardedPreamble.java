package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

import org.leaderfollowers.internal.proxy.ProxyHeaderDecoder;
import org.leaderfollowers.internal.transport.Preamble;

/**
 * The header of the PROXY protocol on a connection that needs a permit. The guard decides
 * as soon as the header has named the client, and before the TLS handshake.
 *
 * @param header decodes the header
 * @param guard decides whether the connection is served
 * @param connection the connection of the header
 */
record GuardedPreamble(ProxyHeaderDecoder header, ConnectionGuard guard,
		StreamConnection connection) implements Preamble {

	@Override
	public int missing() {
		return this.header.missing();
	}

	@Override
	public boolean decode(ByteBuffer input) throws IOException {
		if (!this.header.decode(input)) {
			return false;
		}
		InetSocketAddress client = this.header.header().source();
		if (client != null) {
			ConnectionGuard.Permit permit = Permitted.ask(this.guard, client, this.connection.context.warnings());
			if (permit == null) {
				throw new RejectedException();
			}
			try {
				this.connection.origin = new Permitted(permit, this.header.header());
			}
			catch (OutOfMemoryError ex) {
				permit.closed();
				throw ex;
			}
		}
		return true;
	}

	@Override
	public String toString() {
		return this.header.toString();
	}

	/** The guard has rejected the connection. */
	static final class RejectedException extends IOException {

		private static final long serialVersionUID = 1L;

		@Override
		public Throwable fillInStackTrace() {
			// An attacker can cause many of them.
			return this;
		}

	}

}
