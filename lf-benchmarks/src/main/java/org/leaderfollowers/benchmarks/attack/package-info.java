/**
 * Attacks on servers that echo messages, and honest clients that are served meanwhile.
 */
@NullMarked
package org.leaderfollowers.benchmarks.attack;

import org.jspecify.annotations.NullMarked;
