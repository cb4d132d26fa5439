package org.leaderfollowers.docs.testing;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

// tag::handler[]
@LfHandler
class PriceHandler implements MessageHandler {

	private final Prices prices;

	PriceHandler(Prices prices) {
		this.prices = prices;
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		String product = StandardCharsets.UTF_8.decode(message).toString();
		if (product.equals("bye")) {
			connection.close();
			return;
		}
		String reply = this.prices.find(product).map((price) -> "costs " + price).orElse("unknown");
		connection.send(StandardCharsets.UTF_8.encode(reply));
	}

}
// end::handler[]
