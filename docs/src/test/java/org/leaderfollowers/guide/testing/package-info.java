/**
 * The application that the chapter on tests tests.
 */
@NullMarked
package org.leaderfollowers.guide.testing;

import org.jspecify.annotations.NullMarked;
