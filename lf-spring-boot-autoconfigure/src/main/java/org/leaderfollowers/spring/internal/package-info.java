/**
 * Makes text from others printable. Only the other packages of the auto-configuration use
 * this one.
 */
@NullMarked
package org.leaderfollowers.spring.internal;

import org.jspecify.annotations.NullMarked;
