/**
 * The code of the reference guide, compiled and tested.
 */
@NullMarked
package org.leaderfollowers.docs;

import org.jspecify.annotations.NullMarked;
