/** Log lines that peers or failures cause, with limits on their number. */
@NullMarked
package org.leaderfollowers.internal.logging;

import org.jspecify.annotations.NullMarked;
