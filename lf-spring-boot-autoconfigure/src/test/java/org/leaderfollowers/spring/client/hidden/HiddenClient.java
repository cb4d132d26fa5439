package org.leaderfollowers.spring.client.hidden;

import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;

/** Not public, like most interfaces of an application. */
@LfClient("quotes")
interface HiddenClient {

	@Exchange
	String ask(String text);

}
