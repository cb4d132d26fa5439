package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.session.SessionEntry;

/**
 * A message between nodes.
 */
sealed interface NodeMessage {

	Kind kind();

	/** The node that has sent it. */
	String sender();

	/** Tells the requests of a sender apart; a reply has the id of its request. */
	long id();

	/**
	 * When it is too late, in milliseconds of the {@link ClusterEngine}'s time: nobody
	 * waits for the reply any more.
	 */
	long deadline();

	/** Kinds of messages. New ones are appended, because the wire has the ordinals. */
	enum Kind {

		SEND, EXCHANGE, BROADCAST, TAKEN_OVER, REPLY

	}

	/** A message for a session. */
	record Send(String sender, long id, long deadline, String name, long epoch,
			ByteBuffer payload) implements NodeMessage {

		@Override
		public Kind kind() {
			return Kind.SEND;
		}

	}

	/** A request for a session. */
	record Exchange(String sender, long id, long deadline, String name, long epoch,
			ByteBuffer payload) implements NodeMessage {

		@Override
		public Kind kind() {
			return Kind.EXCHANGE;
		}

	}

	/** A message for all sessions of a node, or those of a group. */
	record Broadcast(String sender, long id, long deadline, @Nullable String group,
			Map<Charset, ByteBuffer> messages) implements NodeMessage {

		@Override
		public Kind kind() {
			return Kind.BROADCAST;
		}

	}

	/** The sender has taken over a session. There is no reply. */
	record TakenOver(String sender, long id, long deadline, SessionEntry successor) implements NodeMessage {

		@Override
		public Kind kind() {
			return Kind.TAKEN_OVER;
		}

	}

	/** The reply to a request. */
	record Reply(String sender, long id, long deadline, Outcome outcome, String detail,
			ByteBuffer payload) implements NodeMessage {

		@Override
		public Kind kind() {
			return Kind.REPLY;
		}

		/**
		 * How a request ended. New ones are appended, because the wire has the ordinals.
		 */
		enum Outcome {

			/** As wished; the payload depends on the request. */
			DONE,

			/** The node does not hold the session with this epoch: nothing was done. */
			STALE,

			/** Nothing was done. */
			REJECTED,

			/** The client has not replied in time. */
			TIMED_OUT,

			/**
			 * The connection ended before the reply, or the node failed: it may be done.
			 */
			LOST,

			/** The framing of the server cannot express the message: nothing was done. */
			INEXPRESSIBLE

		}

	}

	/**
	 * A message of a newer version.
	 *
	 * @param isRequest whether the sender may wait for a reply
	 */
	record Unknown(String sender, long id, boolean isRequest) implements NodeMessage {

		@Override
		public Kind kind() {
			throw new UnsupportedOperationException();
		}

		@Override
		public long deadline() {
			return 0;
		}

	}

}
