/**
 * Sessions in a cluster, on an existing distributed engine.
 */
@NullMarked
package org.leaderfollowers.spring.cluster;

import org.jspecify.annotations.NullMarked;
