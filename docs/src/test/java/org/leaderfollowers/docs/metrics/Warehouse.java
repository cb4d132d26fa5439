package org.leaderfollowers.docs.metrics;

/**
 * Knows what is in stock.
 */
@FunctionalInterface
interface Warehouse {

	int count(String article);

}
