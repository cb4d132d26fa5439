/** Tests of the chapter about the endpoints. */
@NullMarked
package org.leaderfollowers.docs.actuator;

import org.jspecify.annotations.NullMarked;
