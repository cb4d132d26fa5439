package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;

import org.leaderfollowers.internal.logging.EngineLog;

/**
 * Sends the replies of a server of datagrams. Any thread.
 */
final class DatagramReplies {

	private final ServerState server;

	private final DatagramChannel channel;

	private final UdpOptions options;

	private final ServerCounters counters;

	private final DatagramCounters datagramCounters;

	private final ServerWarnings warnings;

	DatagramReplies(ServerState server, DatagramChannel channel, UdpOptions options, ServerCounters counters,
			DatagramCounters datagramCounters, ServerWarnings warnings) {
		this.server = server;
		this.channel = channel;
		this.options = options;
		this.counters = counters;
		this.datagramCounters = datagramCounters;
		this.warnings = warnings;
	}

	/** How many times as much as a datagram the replies to it may take. */
	int maxRatio() {
		return this.options.maxReplyRatio();
	}

	/** A reply was refused since it would have taken too much. */
	void refused() {
		this.datagramCounters.refusedReplies.increment();
	}

	/**
	 * Sends a reply. The payload is as it was afterwards.
	 * @return {@code false} if the socket is closed
	 */
	boolean send(ByteBuffer message, InetSocketAddress target) {
		int position = message.position();
		int limit = message.limit();
		try {
			int sent = this.options.transfer().send(this.channel, message, target);
			if (sent == 0 && position < limit) {
				this.datagramCounters.droppedReplies.increment();
				this.warnings.noRoomForReply();
			}
			else {
				this.datagramCounters.sentReplies.increment();
				this.counters.sent(sent);
			}
			return true;
		}
		catch (ClosedChannelException ex) {
			return false;
		}
		catch (IOException ex) {
			// No route, a port that cannot be, news of an earlier reply that did not
			// arrive: the network loses datagrams, this one a little earlier.
			this.datagramCounters.droppedReplies.increment();
			EngineLog.INSTANCE.debug("Server '{}' could not send a reply", this.server.name(), ex);
			return true;
		}
		finally {
			message.limit(limit).position(position);
		}
	}

}
