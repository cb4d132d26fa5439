/**
 * Bytes that wait: for the rest of their message, or for room in the socket. An idle
 * connection has none.
 */
@NullMarked
package org.leaderfollowers.internal.buffer;

import org.jspecify.annotations.NullMarked;
