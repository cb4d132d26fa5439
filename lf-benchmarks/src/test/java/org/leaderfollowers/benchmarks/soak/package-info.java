/**
 * Tests of the soak.
 */
@NullMarked
package org.leaderfollowers.benchmarks.soak;

import org.jspecify.annotations.NullMarked;
