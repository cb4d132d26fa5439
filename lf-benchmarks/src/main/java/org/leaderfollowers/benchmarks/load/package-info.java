/**
 * The load generator: a process of its own that works against any server which echoes
 * lines.
 */
@NullMarked
package org.leaderfollowers.benchmarks.load;

import org.jspecify.annotations.NullMarked;
