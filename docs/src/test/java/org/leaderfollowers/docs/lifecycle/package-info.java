/** The examples of the chapter about the lifecycle of servers, compiled and tested. */
@NullMarked
package org.leaderfollowers.docs.lifecycle;

import org.jspecify.annotations.NullMarked;
