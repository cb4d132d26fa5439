/**
 * The examples of the chapter about sending to connections.
 */
@NullMarked
package org.leaderfollowers.docs.push;

import org.jspecify.annotations.NullMarked;
