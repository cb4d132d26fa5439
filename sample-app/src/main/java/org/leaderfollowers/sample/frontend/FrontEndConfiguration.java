package org.leaderfollowers.sample.frontend;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import org.leaderfollowers.EventSource;
import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.sample.frontend.OrderRouter.Route;
import org.leaderfollowers.sample.tier.TierProtocol;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.client.LeaderFollowersClients;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;

/** The clients of the two back ends. */
@Configuration(proxyBeanMethods = false)
@Profile(Tiers.FRONT_END)
class FrontEndConfiguration {

	@Bean
	OrderRouter orderRouter(BackEnd.First first, BackEnd.Second second, LeaderFollowersClients clients,
			FrontEndProperties properties) {
		return new OrderRouter(List.of(new Route(first, clients.get("backend1")::awaitConnected),
				new Route(second, clients.get("backend2")::awaitConnected)), properties);
	}

	@Bean
	@LfHandler(client = "backend1")
	CallbackHandler callback1(TierProtocol protocol, BlockingQueue<Callback> callbackQueue) {
		return new CallbackHandler(protocol, callbackQueue);
	}

	@Bean
	@LfHandler(client = "backend2")
	CallbackHandler callback2(TierProtocol protocol, BlockingQueue<Callback> callbackQueue) {
		return new CallbackHandler(protocol, callbackQueue);
	}

	/** The capacity is the maximum number of orders under way. */
	@Bean
	BlockingQueue<Callback> callbackQueue() {
		return new LinkedBlockingQueue<>();
	}

	@Bean
	EventSource<Callback> callbacks(BlockingQueue<Callback> callbackQueue) {
		return EventSource.of(callbackQueue);
	}

}
