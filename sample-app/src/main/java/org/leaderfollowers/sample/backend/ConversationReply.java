package org.leaderfollowers.sample.backend;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonSubTypes.Type;
import com.fasterxml.jackson.annotation.JsonTypeInfo;

/** A reply in a conversation. Its kind is the {@code status} of the reply. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "status")
@JsonSubTypes({ @Type(value = ConversationReply.Begun.class, name = "BEGUN"),
		@Type(value = ConversationReply.Moved.class, name = "MOVED"),
		@Type(value = ConversationReply.Committed.class, name = "COMMITTED"),
		@Type(value = ConversationReply.RolledBack.class, name = "ROLLED_BACK"),
		@Type(value = ConversationReply.Unknown.class, name = "UNKNOWN"),
		@Type(value = ConversationReply.Invalid.class, name = "INVALID") })
sealed interface ConversationReply {

	/** Transactions may follow. */
	record Begun() implements ConversationReply {

	}

	/**
	 * A transaction is done, but will be durable only at the end.
	 *
	 * @param account the account
	 * @param balance its balance after this transaction, in cents
	 * @param transaction the number of the transaction in the history
	 */
	@JsonPropertyOrder({ "account", "balance", "transaction" })
	record Moved(long account, long balance, long transaction) implements ConversationReply {

	}

	/**
	 * All transactions of the conversation are durable.
	 *
	 * @param transactions the number of transactions
	 */
	record Committed(int transactions) implements ConversationReply {

	}

	/**
	 * The conversation is over and has changed nothing.
	 *
	 * @param reason the reason
	 */
	record RolledBack(String reason) implements ConversationReply {

	}

	/**
	 * Because of a failure, it is unknown whether the transactions were committed.
	 *
	 * @param reason what failed
	 */
	record Unknown(String reason) implements ConversationReply {

	}

	/**
	 * The line does not begin a conversation.
	 *
	 * @param reason how a conversation begins
	 */
	record Invalid(String reason) implements ConversationReply {

	}

}
