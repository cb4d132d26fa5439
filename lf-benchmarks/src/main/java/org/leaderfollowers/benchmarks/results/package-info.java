/**
 * What was measured, and what can be said about it.
 */
@NullMarked
package org.leaderfollowers.benchmarks.results;

import org.jspecify.annotations.NullMarked;
