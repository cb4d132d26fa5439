/**
 * The promotion protocol: which thread leads a handle set, and which threads wait to be
 * promoted. It knows nothing of sockets, so that all of its interleavings can be
 * explored.
 */
@NullMarked
package org.leaderfollowers.internal.promotion;

import org.jspecify.annotations.NullMarked;
