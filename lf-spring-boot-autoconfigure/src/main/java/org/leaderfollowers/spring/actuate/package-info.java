/**
 * Actuator endpoint for Leader/Followers pools and servers.
 */
@NullMarked
package org.leaderfollowers.spring.actuate;

import org.jspecify.annotations.NullMarked;
