package org.leaderfollowers.docs.handlers;

import java.util.NoSuchElementException;

import org.leaderfollowers.spring.annotation.LfAdvice;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.handler.UnmatchedMessageException;

// tag::advice[]
@LfAdvice(server = "stock")
class StockAdvice {

	@OnError
	String missing(NoSuchElementException ex) {
		return "ERROR there is no " + ex.getMessage();
	}

	@OnError
	String unknown(UnmatchedMessageException ex, String message) {
		return "ERROR unknown command: " + message;
	}

}
// end::advice[]
