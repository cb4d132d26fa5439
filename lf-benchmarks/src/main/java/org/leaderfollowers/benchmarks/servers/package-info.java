/**
 * One server for each of the designs that the engine is compared with. All of them use
 * the same protocol and do the same work, so that only the design differs.
 */
@NullMarked
package org.leaderfollowers.benchmarks.servers;

import org.jspecify.annotations.NullMarked;
