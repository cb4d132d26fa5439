/** Tests of the chapter about the health of pools and servers. */
@NullMarked
package org.leaderfollowers.docs.health;

import org.jspecify.annotations.NullMarked;
