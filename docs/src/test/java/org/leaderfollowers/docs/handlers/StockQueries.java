package org.leaderfollowers.docs.handlers;

import java.util.NoSuchElementException;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

import org.springframework.core.annotation.Order;

// tag::handler[]
@LfHandler(server = "stock")
@Order(1)
class StockQueries {

	private final Shelves shelves;

	StockQueries(Shelves shelves) {
		this.shelves = shelves;
	}

	@OnMessage(prefix = "COUNT ")
	int count(String item) {
		Integer count = this.shelves.counts().get(item);
		if (count == null) {
			throw new NoSuchElementException(item);
		}
		return count;
	}

}
// end::handler[]
