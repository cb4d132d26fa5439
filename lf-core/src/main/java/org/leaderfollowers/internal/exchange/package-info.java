/**
 * Requests that wait for their replies: the state of each request, and the table of the
 * requests under way on one connection. This package knows neither sockets nor threads of
 * a pool.
 */
@NullMarked
package org.leaderfollowers.internal.exchange;

import org.jspecify.annotations.NullMarked;
