package org.leaderfollowers.docs.parallel;

/** Books amounts. */
interface Ledger {

	String book(String request);

}
