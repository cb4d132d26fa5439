/**
 * Meters of Leader/Followers pools and servers.
 */
@NullMarked
package org.leaderfollowers.spring.metrics;

import org.jspecify.annotations.NullMarked;
