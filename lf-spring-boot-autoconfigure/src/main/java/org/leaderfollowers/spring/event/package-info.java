/**
 * Application events of servers, connections and pools.
 */
@NullMarked
package org.leaderfollowers.spring.event;

import org.jspecify.annotations.NullMarked;
