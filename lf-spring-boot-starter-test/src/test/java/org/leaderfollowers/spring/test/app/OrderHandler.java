package org.leaderfollowers.spring.test.app;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

@LfHandler("orders")
public class OrderHandler {

	@OnMessage
	Receipt place(@Valid Order order) {
		if (order.product().isEmpty()) {
			throw new IllegalArgumentException("nothing");
		}
		return new Receipt(order.product(), order.count() * 2);
	}

	record Order(String product, @Min(1) int count) {
	}

	record Receipt(String product, int price) {
	}

}
