package org.leaderfollowers.docs.handlers;

import java.util.concurrent.CompletableFuture;

/**
 * Knows the rates of currencies.
 */
interface RateClient {

	CompletableFuture<Double> fetch(String currency);

	double rateAt(long day);

}
