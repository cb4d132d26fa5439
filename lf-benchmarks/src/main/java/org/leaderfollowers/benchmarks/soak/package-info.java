/**
 * A soak: all kinds of servers in one process are loaded, attacked and operated for an
 * hour, and must be afterwards what they were before.
 */
@NullMarked
package org.leaderfollowers.benchmarks.soak;

import org.jspecify.annotations.NullMarked;
