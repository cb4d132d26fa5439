package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.Clock;

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

	/** {@code null} if there is no limit. */
	private final @Nullable ReplyRate rate;

	DatagramReplies(ServerState server, DatagramChannel channel, UdpOptions options, ServerCounters counters,
			DatagramCounters datagramCounters, ServerWarnings warnings, Clock clock) {
		this.server = server;
		this.channel = channel;
		this.options = options;
		this.counters = counters;
		this.datagramCounters = datagramCounters;
		this.warnings = warnings;
		this.rate = (options.maxReplyRate() > 0) ? new ReplyRate(options.maxReplyRate(), clock) : null;
	}

	/** The maximum ratio of the size of all replies to the size of their datagram. */
	int maxRatio() {
		return this.options.maxReplyRatio();
	}

	/** Counts a reply that was rejected because it would exceed the ratio. */
	void refused() {
		this.datagramCounters.refusedReplies.increment();
	}

	/**
	 * Sends a reply. The payload keeps its position and limit.
	 * @return {@code false} if the socket is closed
	 */
	boolean send(ByteBuffer message, InetSocketAddress target) {
		if (this.rate != null && !this.rate.tryAcquire(target)) {
			this.datagramCounters.limitedReplies.increment();
			this.warnings.tooManyReplies(this.options.maxReplyRate());
			return this.channel.isOpen();
		}
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
			// The cause is, for example, a missing route, an invalid port, or a report
			// about an earlier reply. Networks lose datagrams, so this reply is dropped
			// and counted.
			this.datagramCounters.droppedReplies.increment();
			EngineLog.INSTANCE.debug("Server '{}' could not send a reply", this.server.name(), ex);
			return true;
		}
		finally {
			message.limit(limit).position(position);
		}
	}

}
