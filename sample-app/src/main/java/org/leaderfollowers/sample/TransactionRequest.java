package org.leaderfollowers.sample;

/**
 * Asks for one transaction in the style of TPC-B: a customer pays in or draws money at a
 * teller of a branch.
 *
 * @param account the account whose balance is moved
 * @param teller the teller who does it
 * @param branch the branch where it is done
 * @param delta by how many cents, negative to draw money; 0 asks for the balance
 */
public record TransactionRequest(long account, long teller, long branch, long delta) {

}
