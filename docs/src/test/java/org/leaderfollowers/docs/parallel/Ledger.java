package org.leaderfollowers.docs.parallel;

/**
 * What books.
 */
interface Ledger {

	String book(String request);

}
