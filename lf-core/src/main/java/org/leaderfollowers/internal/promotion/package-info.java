/**
 * The promotion protocol: who leads a handle set, and who waits to be promoted. Knows
 * nothing of sockets, so that every interleaving of it can be explored by itself.
 */
@NullMarked
package org.leaderfollowers.internal.promotion;

import org.jspecify.annotations.NullMarked;
