/**
 * What is read from the system, and what is planned, is right.
 */
@NullMarked
package org.leaderfollowers.benchmarks.comparison;

import org.jspecify.annotations.NullMarked;
