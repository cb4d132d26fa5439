/** The layer between the socket of a connection and its framing, with or without TLS. */
@NullMarked
package org.leaderfollowers.internal.transport;

import org.jspecify.annotations.NullMarked;
