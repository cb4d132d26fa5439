/**
 * What the chapter about the endpoints says.
 */
@NullMarked
package org.leaderfollowers.docs.actuator;

import org.jspecify.annotations.NullMarked;
