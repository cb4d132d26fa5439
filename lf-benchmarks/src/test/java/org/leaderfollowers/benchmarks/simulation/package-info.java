/**
 * Tests.
 */
@NullMarked
package org.leaderfollowers.benchmarks.simulation;

import org.jspecify.annotations.NullMarked;
