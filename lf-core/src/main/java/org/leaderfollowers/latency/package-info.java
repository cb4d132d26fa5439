/**
 * How long things take, counted without a lock and without allocation.
 */
@NullMarked
package org.leaderfollowers.latency;

import org.jspecify.annotations.NullMarked;
