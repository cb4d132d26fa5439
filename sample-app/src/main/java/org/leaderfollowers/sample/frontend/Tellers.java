package org.leaderfollowers.sample.frontend;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.client.ClientProtocol;
import org.leaderfollowers.sample.tier.Order;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/**
 * The tellers whose orders are under way, so that back ends can ask them to confirm.
 */
@Component
@Profile(Tiers.FRONT_END)
class Tellers {

	private static final Logger logger = LoggerFactory.getLogger(Tellers.class);

	private final Map<UUID, Teller> tellers = new ConcurrentHashMap<>();

	private final ClientProtocol protocol;

	private final FrontEndProperties properties;

	Tellers(ClientProtocol protocol, FrontEndProperties properties) {
		this.protocol = protocol;
		this.properties = properties;
	}

	/**
	 * Remembers which teller to ask about an order, until the order has its result.
	 * @param order the order
	 * @param connection the connection that the order came from
	 */
	void add(Order order, Connection connection) {
		this.tellers.put(order.id(), new Teller(connection, order.request()));
	}

	void remove(Order order) {
		this.tellers.remove(order.id());
	}

	/**
	 * Asks the teller to confirm an order. A teller is asked only once: if the order has
	 * been sent again, the first answer counts, which may still be to come.
	 * @param order identifies the order
	 * @return whether the teller confirms it
	 */
	CompletableFuture<Boolean> confirm(UUID order) {
		Teller teller = this.tellers.get(order);
		if (teller == null) {
			return CompletableFuture.completedFuture(false);
		}
		CompletableFuture<Boolean> answer = new CompletableFuture<>();
		CompletableFuture<Boolean> other = teller.answer.compareAndExchange(null, answer);
		if (other != null) {
			return other;
		}
		boolean given = false;
		try {
			given = this.protocol.isConfirmation(teller.connection
				.exchange(this.protocol.confirmationRequest(teller.request), this.properties.tellerTimeout()));
		}
		catch (ExchangeException ex) {
			logger.debug("The teller of order {} has not answered", order, ex);
		}
		finally {
			answer.complete(given);
		}
		return answer;
	}

	/** A teller whose order is under way. */
	private static final class Teller {

		private final Connection connection;

		private final TransactionRequest request;

		private final AtomicReference<@Nullable CompletableFuture<Boolean>> answer = new AtomicReference<>();

		Teller(Connection connection, TransactionRequest request) {
			this.connection = connection;
			this.request = request;
		}

	}

}
