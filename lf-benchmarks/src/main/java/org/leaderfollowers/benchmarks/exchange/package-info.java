/**
 * Clients of a Redis server compared: many threads that exchange requests and replies on
 * one connection.
 */
@NullMarked
package org.leaderfollowers.benchmarks.exchange;

import org.jspecify.annotations.NullMarked;
