package org.leaderfollowers;

import org.leaderfollowers.internal.exchange.Exchange.State;

/** The options and counters of the requests that a server sends to its clients. */
final class ServerExchanges implements Exchanges.ExchangeListener {

	private final Correlation correlation;

	private final int places;

	private final ExchangeCounters counters = new ExchangeCounters();

	ServerExchanges(Correlation correlation, int places) {
		this.correlation = correlation;
		this.places = places;
	}

	Correlation correlation() {
		return this.correlation;
	}

	/** Lets requests be sent on a connection. Called before the connection is opened. */
	void begin(StreamConnection connection) {
		connection.exchanges = new Exchanges(this.correlation, this.places, connection, this);
	}

	ServerSnapshot.Exchanges snapshot() {
		return new ServerSnapshot.Exchanges(this.counters.outcomes(), this.counters.lateReplies.sum());
	}

	@Override
	public void ended(State state) {
		this.counters.ended(state);
	}

	@Override
	public void late() {
		this.counters.lateReplies.increment();
	}

	@Override
	public void changed() {
	}

	@Override
	public int maxOverdue() {
		return this.places / 2;
	}

}
