/**
 * The application that the chapter on tests tests.
 */
@NullMarked
package org.leaderfollowers.docs.testing;

import org.jspecify.annotations.NullMarked;
