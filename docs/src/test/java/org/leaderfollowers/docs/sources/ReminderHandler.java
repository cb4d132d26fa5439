package org.leaderfollowers.docs.sources;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

// tag::handler[]
@LfHandler(source = "reminders")
class ReminderHandler {

	private final Mailbox mailbox;

	ReminderHandler(Mailbox mailbox) {
		this.mailbox = mailbox;
	}

	@OnMessage
	void remind(Reminder reminder) {
		this.mailbox.send(reminder.account(), "Your invoice is due");
	}

}
// end::handler[]
