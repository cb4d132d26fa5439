package org.leaderfollowers.sample;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonSubTypes.Type;
import com.fasterxml.jackson.annotation.JsonTypeInfo;

/** The result of a request. Its kind is the {@code status} of the reply. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "status")
@JsonSubTypes({ @Type(value = TransactionResult.Committed.class, name = "COMMITTED"),
		@Type(value = TransactionResult.Rejected.class, name = "REJECTED"),
		@Type(value = TransactionResult.Unknown.class, name = "UNKNOWN"),
		@Type(value = TransactionResult.Invalid.class, name = "INVALID") })
public sealed interface TransactionResult {

	/**
	 * The transaction is durable.
	 *
	 * @param account the account
	 * @param balance its balance after this transaction, in cents
	 * @param transaction the number of the transaction in the history
	 */
	@JsonPropertyOrder({ "account", "balance", "transaction" })
	record Committed(long account, long balance, long transaction) implements TransactionResult {

	}

	/**
	 * The request was understood, but the transaction was not carried out.
	 *
	 * @param reason the reason
	 */
	record Rejected(String reason) implements TransactionResult {

	}

	/**
	 * Because of a failure, it is unknown whether the transaction was carried out.
	 *
	 * @param reason what failed
	 */
	record Unknown(String reason) implements TransactionResult {

	}

	/**
	 * The line is not a valid request.
	 *
	 * @param reason the reason
	 */
	record Invalid(String reason) implements TransactionResult {

	}

}
