package org.leaderfollowers.docs.sessions;

import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionContestedException;

// tag::handler[]
@LfHandler(server = "meters")
class MeterHandler {

	private final LfSessions sessions;

	MeterHandler(LfSessions sessions) {
		this.sessions = sessions;
	}

	@OnMessage(prefix = "HELLO ")
	String hello(String serialNumber, Connection connection) {
		try {
			this.sessions.bind(connection, serialNumber);
		}
		catch (SessionContestedException ex) {
			return "LATER";
		}
		this.sessions.join(connection, "meters of " + serialNumber.substring(0, 2));
		return "WELCOME";
	}

}
// end::handler[]
