/** The examples of the chapter about datagrams, compiled and tested. */
@NullMarked
package org.leaderfollowers.docs.datagrams;

import org.jspecify.annotations.NullMarked;
