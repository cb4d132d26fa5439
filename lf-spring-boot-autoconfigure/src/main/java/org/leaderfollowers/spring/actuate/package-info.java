/**
 * Actuator endpoints for Leader/Followers pools, servers and clients.
 */
@NullMarked
package org.leaderfollowers.spring.actuate;

import org.jspecify.annotations.NullMarked;
