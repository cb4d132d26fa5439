/**
 * Tests of the attacks.
 */
@NullMarked
package org.leaderfollowers.benchmarks.attack;

import org.jspecify.annotations.NullMarked;
