/**
 * Connections by the names of their clients, on any node of a cluster.
 */
@NullMarked
package org.leaderfollowers.spring.session;

import org.jspecify.annotations.NullMarked;
