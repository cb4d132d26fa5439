/** Durations, recorded without a lock and without allocation. */
@NullMarked
package org.leaderfollowers.internal.latency;

import org.jspecify.annotations.NullMarked;
