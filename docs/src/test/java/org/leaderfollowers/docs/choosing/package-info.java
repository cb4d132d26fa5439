/**
 * The settings of the chapter on the sizes of pools.
 */
@NullMarked
package org.leaderfollowers.docs.choosing;

import org.jspecify.annotations.NullMarked;
