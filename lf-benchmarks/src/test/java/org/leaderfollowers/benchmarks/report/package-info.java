/**
 * What readers get says what was found.
 */
@NullMarked
package org.leaderfollowers.benchmarks.report;

import org.jspecify.annotations.NullMarked;
