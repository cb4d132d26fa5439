package org.leaderfollowers.simulation;

/** What happens in simulated runs, to be counted. */
public enum Counted {

	/** A client has connected. */
	CONNECTIONS("connections of clients"),

	/** The handler of a server was called for a message. */
	MESSAGES("messages handled"),

	/** A client has received a reply, the right one. */
	REPLIES("replies received"),

	/** An exchange of the application with a server or a client has ended. */
	EXCHANGES("exchanges of the application"),

	/** Such an exchange has ended with its reply. */
	EXCHANGES_REPLIED("of them replied"),

	/** An allocation has failed. */
	SHORTAGES("shortages of memory");

	private final String text;

	Counted(String text) {
		this.text = text;
	}

	@Override
	public String toString() {
		return this.text;
	}

}
