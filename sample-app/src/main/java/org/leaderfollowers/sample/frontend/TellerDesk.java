package org.leaderfollowers.sample.frontend;

import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.sample.tier.Confirmation;
import org.leaderfollowers.sample.tier.TierProtocol;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

import org.springframework.context.annotation.Profile;

/**
 * Asks tellers to confirm amounts, and sends the answers to the back ends. Threads of a
 * separate pool wait for tellers. The thread that has forwarded the order waits for its
 * result and meanwhile reads the answer of the teller, because no other thread may read
 * that connection.
 */
// tag::handler[]
@LfHandler(source = "callbacks")
@Profile(Tiers.FRONT_END)
class TellerDesk {

	private final TierProtocol protocol;

	private final Tellers tellers;

	TellerDesk(TierProtocol protocol, Tellers tellers) {
		this.protocol = protocol;
		this.tellers = tellers;
	}

	@OnMessage
	void ask(Callback callback) {
		this.tellers.confirm(callback.order())
			.thenAccept((given) -> callback.backEnd()
				.send(this.protocol.reply(callback.number(), new Confirmation(given))));
	}

}
// end::handler[]
