/**
 * What the bytes of a connection go through between its socket and its framing.
 */
@NullMarked
package org.leaderfollowers.internal.transport;

import org.jspecify.annotations.NullMarked;
