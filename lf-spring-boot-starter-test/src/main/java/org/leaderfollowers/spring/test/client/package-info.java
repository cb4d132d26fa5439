/**
 * Blocking clients for tests, over the network and in memory.
 */
@NullMarked
package org.leaderfollowers.spring.test.client;

import org.jspecify.annotations.NullMarked;
