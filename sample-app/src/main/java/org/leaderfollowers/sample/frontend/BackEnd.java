package org.leaderfollowers.sample.frontend;

import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.tier.Order;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;

import org.springframework.context.annotation.Profile;

/**
 * A back end, as the front end sees it. Many threads share its connections.
 */
// tag::client[]
public interface BackEnd {

	@Exchange(timeout = "${sample.front-end.order-timeout}")
	TransactionResult execute(Order order);

	@LfClient("backend1")
	@Profile(Tiers.FRONT_END)
	interface First extends BackEnd {

	}

	@LfClient("backend2")
	@Profile(Tiers.FRONT_END)
	interface Second extends BackEnd {

	}

}
// end::client[]
