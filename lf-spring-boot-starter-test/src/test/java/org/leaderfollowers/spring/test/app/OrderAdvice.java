package org.leaderfollowers.spring.test.app;

import org.leaderfollowers.spring.annotation.LfAdvice;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.handler.PayloadConversionException;

@LfAdvice("orders")
class OrderAdvice {

	@OnError
	String unreadable(PayloadConversionException ex) {
		return "unreadable";
	}

}
