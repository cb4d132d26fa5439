/** The examples of the chapter about meters and traces. */
@NullMarked
package org.leaderfollowers.docs.metrics;

import org.jspecify.annotations.NullMarked;
