/** The application of the chapter about tests. */
@NullMarked
package org.leaderfollowers.docs.testing;

import org.jspecify.annotations.NullMarked;
