package org.leaderfollowers.docs.metrics;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

// tag::handler[]
@LfHandler(server = "stock")
class StockHandler {

	private static final Logger logger = LoggerFactory.getLogger(StockHandler.class);

	private final Warehouse warehouse;

	private final ObservationRegistry observations;

	StockHandler(Warehouse warehouse, ObservationRegistry observations) {
		this.warehouse = warehouse;
		this.observations = observations;
	}

	@OnMessage
	String inStock(String article) {
		logger.info("Counting"); // <1>
		return Observation.createNotStarted("stock.count", this.observations) // <2>
			.observe(() -> "%d in stock".formatted(this.warehouse.count(article)));
	}

}
// end::handler[]
