package org.leaderfollowers.sample.frontend;

import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;

import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.TransactionResult.Rejected;
import org.leaderfollowers.sample.TransactionResult.Unknown;
import org.leaderfollowers.sample.tier.Order;
import org.leaderfollowers.spring.handler.InvalidReplyException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends orders to back ends. Each account belongs to a back end by its range, so that
 * transactions on the same account usually meet in one back end; the other back end takes
 * over if necessary.
 * <p>
 * An order without a result is sent again, to the next back end. This is safe even if the
 * order was carried out, because back ends recognize an order by its identifier. Only the
 * result of a transaction is final: while an earlier attempt may still be under way, a
 * later rejection proves nothing.
 */
class OrderRouter {

	private static final Logger logger = LoggerFactory.getLogger(OrderRouter.class);

	/** A limit, so that an order that crashes back ends does not do so for long. */
	private static final int MAX_FAILURES = 3;

	private static final Duration MOMENT = Duration.ofMillis(100);

	private final List<Route> routes;

	private final FrontEndProperties properties;

	OrderRouter(List<Route> routes, FrontEndProperties properties) {
		this.routes = routes;
		this.properties = properties;
	}

	// tag::route[]
	/**
	 * Sends an order until it has a result.
	 * @param order the order
	 * @return the result
	 */
	TransactionResult route(Order order) {
		int home = (order.request().account() <= this.properties.boundary()) ? 0 : 1;
		long start = System.nanoTime();
		int failures = 0;
		do {
			for (int i = 0; i < this.routes.size(); i++) {
				Route route = this.routes.get((home + i) % this.routes.size());
				try {
					TransactionResult result = route.backEnd().execute(order);
					if (!(result instanceof Unknown)) {
						return (failures > 0 && result instanceof Rejected) ? unknown() : result;
					}
					failures++;
				}
				catch (ExchangeRejectedException ex) {
					logger.debug("Order {} was not sent", order.id(), ex);
				}
				catch (ExchangeException | InvalidReplyException ex) {
					logger.debug("Order {} got no result", order.id(), ex);
					failures++;
				}
			}
		}
		while (failures < MAX_FAILURES && awaitBackEnd(home, start));
		return (failures > 0) ? unknown()
				: new Rejected("No back end can be reached; nothing was changed, try again later");
	}
	// end::route[]

	private static Unknown unknown() {
		return new Unknown("A back end failed in the middle; see the balance before you try again");
	}

	/**
	 * Waits a moment for the back end that the order belongs to. The other back end may
	 * be available earlier, so both are tried afterwards.
	 * @return {@code false} if the time is over
	 */
	private boolean awaitBackEnd(int home, long startNanos) {
		Duration left = this.properties.patience().minusNanos(System.nanoTime() - startNanos);
		if (left.isNegative() || left.isZero() || Thread.currentThread().isInterrupted()) {
			return false;
		}
		this.routes.get(home).awaitConnected().test((left.compareTo(MOMENT) < 0) ? left : MOMENT);
		return true;
	}

	/**
	 * A back end and how to wait for it.
	 *
	 * @param backEnd receives the orders
	 * @param awaitConnected waits until the back end can be reached, at most for the
	 * given time
	 */
	record Route(BackEnd backEnd, Predicate<Duration> awaitConnected) {

	}

}
