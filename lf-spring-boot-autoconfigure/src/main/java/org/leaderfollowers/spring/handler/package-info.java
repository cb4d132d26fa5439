/**
 * Calls annotated methods to handle messages and failures.
 */
@NullMarked
package org.leaderfollowers.spring.handler;

import org.jspecify.annotations.NullMarked;
