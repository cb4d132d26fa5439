/**
 * Tests of applications with libraries that not every application has.
 */
@NullMarked
package org.leaderfollowers.integration;

import org.jspecify.annotations.NullMarked;
