/**
 * The messages of one connection that are handled in parallel.
 */
@NullMarked
package org.leaderfollowers.internal.window;

import org.jspecify.annotations.NullMarked;
