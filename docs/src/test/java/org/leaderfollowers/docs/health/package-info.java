/**
 * What the guide shows of the health of pools and servers.
 */
@NullMarked
package org.leaderfollowers.docs.health;

import org.jspecify.annotations.NullMarked;
