package org.leaderfollowers.docs.parallel;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.spring.annotation.LfHandler;

// tag::handler[]
@LfHandler(server = "payments")
class SettlementHandler implements MessageHandler {

	private final ExecutorService executor;

	private final Ledger ledger;

	SettlementHandler(ExecutorService executor, Ledger ledger) {
		this.executor = executor;
		this.ledger = ledger;
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		String request = StandardCharsets.US_ASCII.decode(message).toString();
		OwedReply reply = connection.owe();
		this.executor.execute(() -> {
			try {
				reply.send(StandardCharsets.US_ASCII.encode(this.ledger.book(request)));
			}
			catch (RuntimeException ex) {
				reply.fail(ex);
			}
			finally {
				reply.close();
			}
		});
	}

}
// end::handler[]
