package org.leaderfollowers.docs.handlers;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

// tag::handler[]
@LfHandler
class Greeter {

	@OnMessage
	String greet(String name) {
		return "Hello, " + name;
	}

}
// end::handler[]
