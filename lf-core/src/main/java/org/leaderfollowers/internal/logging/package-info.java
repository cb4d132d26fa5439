/**
 * Log lines that a peer or a fault can provoke, kept from becoming a flood.
 */
@NullMarked
package org.leaderfollowers.internal.logging;

import org.jspecify.annotations.NullMarked;
