package org.leaderfollowers.spring.session;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;

/**
 * Says which node holds which name, and reaches the sessions of other nodes. There is one
 * in memory, for applications of one process; a bean of this type replaces it.
 * <p>
 * A directory may forget: a name has a holder as long as the node of the holder is alive
 * and confirms it. Messages are sent at most once: never again after a failure that
 * leaves open whether they arrived. No method blocks, and each future is completed in
 * bounded time. All methods can be called by any thread.
 */
public interface SessionDirectory {

	/**
	 * Creates a directory for an application of one process.
	 * @param clock tells the time
	 * @return a new directory
	 */
	static SessionDirectory inMemory(Clock clock) {
		return new MemorySessionDirectory(clock);
	}

	/**
	 * Begins to receive what other nodes send to this one.
	 * @param holder the sessions of this node
	 */
	void start(SessionHolder holder);

	/**
	 * Ends receiving. Other nodes see this one leave.
	 */
	void stop();

	/**
	 * Identifies this run of this node.
	 * @return the name of the node followed by something that no other run has, printable
	 */
	String node();

	/**
	 * Returns which nodes can be reached.
	 * @return the nodes, this one first
	 */
	List<SessionNode> nodes();

	/**
	 * Why other nodes cannot be reached at present. Sessions of this node go on
	 * meanwhile, and are registered later.
	 * @return what is wrong, in words for operators; {@code null} if nothing is
	 */
	default @Nullable String problem() {
		return null;
	}

	/**
	 * Takes a name for a connection of this node, and tells the node that held it. If the
	 * shared directory cannot be reached, the name is taken on this node only, and
	 * registered when it can be reached again.
	 * @param claim who wants the name
	 * @return the new entry, or a {@link SessionContestedException}
	 */
	CompletableFuture<SessionEntry> claim(SessionClaim claim);

	/**
	 * Removes an entry if it is still the current one of its name.
	 * @param entry the entry of a connection of this node that has ended
	 */
	void release(SessionEntry entry);

	/**
	 * Finds the holder of a name.
	 * @param name the name
	 * @return the entry, or {@code null} if no reachable node holds the name; or an
	 * {@link org.leaderfollowers.ExchangeRejectedException} if the directory cannot be
	 * reached
	 */
	CompletableFuture<@Nullable SessionEntry> find(String name);

	/**
	 * Finds the holder of a name to send something to it. The answer may be from memory
	 * and out of date: the holder refuses then, and the next answer is not from memory.
	 * @param name the name
	 * @return as of {@link #find}
	 */
	default CompletableFuture<@Nullable SessionEntry> locate(String name) {
		return find(name);
	}

	/**
	 * Sends a message to a session of another node.
	 * @param to the entry that {@link #locate} has returned
	 * @param message the message
	 * @param timeout how long to wait for the outcome, more than 0
	 * @return the outcome; or a {@link StaleSessionException} if the node does not hold
	 * the session with this epoch any more, so that nothing was sent
	 */
	CompletableFuture<Delivery> send(SessionEntry to, ByteBuffer message, Duration timeout);

	/**
	 * Sends a request to a session of another node.
	 * @param to the entry that {@link #locate} has returned
	 * @param request the message
	 * @param timeout the time from now to the reply, more than 0
	 * @return the reply; or an {@link org.leaderfollowers.ExchangeException} like those
	 * of {@link org.leaderfollowers.Connection#exchange}; or a
	 * {@link StaleSessionException} if the node does not hold the session with this epoch
	 * any more, so that nothing was sent
	 */
	CompletableFuture<ByteBuffer> exchange(SessionEntry to, ByteBuffer request, Duration timeout);

	/**
	 * Sends a message to sessions of all other nodes.
	 * @param group the name of a group, or {@code null} for all sessions
	 * @param messages the message in the charsets of the servers
	 * @param timeout how long to wait for the outcome, more than 0
	 * @return the outcome, which counts nodes that have not answered
	 */
	CompletableFuture<SessionBroadcast> broadcast(@Nullable String group, Map<Charset, ByteBuffer> messages,
			Duration timeout);

}
