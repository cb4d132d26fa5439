package org.leaderfollowers.spring.client.app;

import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;

/** Found, because it is in the packages of the application. */
@LfClient("ledger")
public interface Ledger {

	/**
	 * Books.
	 * @param order what to book
	 * @return the receipt
	 */
	@Exchange
	String book(String order);

}
