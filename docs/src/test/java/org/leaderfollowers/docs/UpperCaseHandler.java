package org.leaderfollowers.docs;

// tag::imports[]
import java.util.Locale;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

// end::imports[]
// tag::handler[]
@LfHandler
class UpperCaseHandler {

	@OnMessage
	String toUpperCase(String message) {
		return message.toUpperCase(Locale.ROOT);
	}

}
// end::handler[]
