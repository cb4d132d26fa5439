/**
 * Measures servers against each other, each in a process of its own.
 */
@NullMarked
package org.leaderfollowers.benchmarks.comparison;

import org.jspecify.annotations.NullMarked;
