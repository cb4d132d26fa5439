/**
 * What is said about results follows from them.
 */
@NullMarked
package org.leaderfollowers.benchmarks.results;

import org.jspecify.annotations.NullMarked;
