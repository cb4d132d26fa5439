package org.leaderfollowers.docs.sources;

/**
 * Sends mails; may block.
 */
interface Mailbox {

	void send(String account, String text);

}
