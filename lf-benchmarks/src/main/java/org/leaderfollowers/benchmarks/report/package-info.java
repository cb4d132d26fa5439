/**
 * Results for readers: a page of the documentation, with plots.
 */
@NullMarked
package org.leaderfollowers.benchmarks.report;

import org.jspecify.annotations.NullMarked;
