/**
 * The clients of an application context, and the interfaces that use them.
 */
@NullMarked
package org.leaderfollowers.spring.client;

import org.jspecify.annotations.NullMarked;
