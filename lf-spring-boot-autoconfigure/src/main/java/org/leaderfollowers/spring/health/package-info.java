/**
 * Health of Leader/Followers pools and servers.
 */
@NullMarked
package org.leaderfollowers.spring.health;

import org.jspecify.annotations.NullMarked;
