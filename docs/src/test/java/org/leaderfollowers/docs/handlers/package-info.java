/**
 * The handlers of the chapters about handlers and errors, compiled and tested.
 */
@NullMarked
package org.leaderfollowers.docs.handlers;

import org.jspecify.annotations.NullMarked;
