/**
 * The generator measures what the server does, not what itself does.
 */
@NullMarked
package org.leaderfollowers.benchmarks.load;

import org.jspecify.annotations.NullMarked;
