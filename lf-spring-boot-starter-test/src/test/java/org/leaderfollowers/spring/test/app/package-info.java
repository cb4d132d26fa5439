/**
 * An application to be tested, with more than handlers.
 */
@NullMarked
package org.leaderfollowers.spring.test.app;

import org.jspecify.annotations.NullMarked;
