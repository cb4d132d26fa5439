/**
 * What the guide shows of meters and traces.
 */
@NullMarked
package org.leaderfollowers.docs.metrics;

import org.jspecify.annotations.NullMarked;
