package org.leaderfollowers.sample;

/**
 * A request for one transaction in the style of TPC-B: a customer deposits or withdraws
 * money at a teller of a branch.
 *
 * @param account the account whose balance is changed
 * @param teller the teller who performs the transaction
 * @param branch the branch of the teller
 * @param delta the change in cents, negative for a withdrawal; 0 asks for the balance
 */
public record TransactionRequest(long account, long teller, long branch, long delta) {

}
