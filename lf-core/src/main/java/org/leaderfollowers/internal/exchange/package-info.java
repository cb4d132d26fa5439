/**
 * Requests that wait for their replies: the state of one, and the table of those that are
 * under way on one connection. It knows neither sockets nor threads of a pool.
 */
@NullMarked
package org.leaderfollowers.internal.exchange;

import org.jspecify.annotations.NullMarked;
