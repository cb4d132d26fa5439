package org.leaderfollowers.spring.session;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.util.Collection;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

/**
 * The sessions of this node, as a {@link SessionDirectory} uses them on behalf of other
 * nodes. No method blocks. All methods can be called by any thread.
 */
public interface SessionHolder {

	/**
	 * Returns the entries that this node believes to hold.
	 * @return a snapshot
	 */
	Collection<SessionEntry> held();

	/**
	 * Finds the connection of a session.
	 * @param name the name
	 * @param epoch the epoch that the other node knows
	 * @return {@code null} if this node does not hold the name with exactly this epoch
	 */
	@Nullable Connection connection(String name, long epoch);

	/**
	 * Sends a message to sessions of this node.
	 * @param group the name of a group, or {@code null} for all sessions
	 * @param messages the message in the charsets of the servers. If that of a server is
	 * missing, its sessions get the first one
	 * @return the outcome
	 */
	SessionBroadcast broadcast(@Nullable String group, Map<Charset, ByteBuffer> messages);

	/**
	 * Ends a session that another connection has taken over, and any that is about to be
	 * registered here with an older entry.
	 * @param successor the entry that prevails
	 */
	void takenOver(SessionEntry successor);

}
