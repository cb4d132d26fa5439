package org.leaderfollowers.docs.handlers;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;

import org.springframework.core.annotation.Order;

// tag::handler[]
@LfHandler(server = "stock")
@Order(2)
class StockUpdates {

	private final Shelves shelves;

	StockUpdates(Shelves shelves) {
		this.shelves = shelves;
	}

	@OnOpen
	String opened() {
		return "ready";
	}

	@OnMessage(prefix = "ADD ")
	int add(String item, Warehouse warehouse) {
		return this.shelves.counts().merge(item, warehouse.unit(), Integer::sum);
	}

}
// end::handler[]
