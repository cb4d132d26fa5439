/**
 * What the chapter about the surroundings of handlers shows, compiled and tested.
 */
@NullMarked
package org.leaderfollowers.docs.lifecycle;

import org.jspecify.annotations.NullMarked;
