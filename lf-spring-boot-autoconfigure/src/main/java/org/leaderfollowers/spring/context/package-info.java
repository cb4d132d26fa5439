/**
 * Values that belong to a connection and are bound to the threads that handle it.
 */
@NullMarked
package org.leaderfollowers.spring.context;

import org.jspecify.annotations.NullMarked;
