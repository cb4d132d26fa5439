/**
 * Assertions for pools and servers.
 */
@NullMarked
package org.leaderfollowers.spring.test.assertion;

import org.jspecify.annotations.NullMarked;
