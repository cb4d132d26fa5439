package org.leaderfollowers.spring.handler.elsewhere;

import org.leaderfollowers.spring.annotation.OnMessage;

/** Has a method that classes of other packages do not override, and proxies neither. */
public class PackagePrivateHandler {

	@OnMessage
	void text(String text) {
	}

}
