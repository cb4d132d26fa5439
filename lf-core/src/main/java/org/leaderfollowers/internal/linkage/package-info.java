/**
 * Does what the virtual machine otherwise postpones until memory may be short.
 */
@NullMarked
package org.leaderfollowers.internal.linkage;

import org.jspecify.annotations.NullMarked;
