/**
 * Tests of applications that have Leader/Followers servers: annotations and beans.
 */
@NullMarked
package org.leaderfollowers.spring.test;

import org.jspecify.annotations.NullMarked;
