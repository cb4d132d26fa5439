/**
 * Assertions for pools, servers and framings.
 */
@NullMarked
package org.leaderfollowers.spring.test.assertion;

import org.jspecify.annotations.NullMarked;
