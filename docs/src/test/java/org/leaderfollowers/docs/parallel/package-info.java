/**
 * Snippets of the chapter about messages of one connection in parallel.
 */
@NullMarked
package org.leaderfollowers.docs.parallel;

import org.jspecify.annotations.NullMarked;
