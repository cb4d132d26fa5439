/**
 * What the chapter about datagrams shows, compiled and tested.
 */
@NullMarked
package org.leaderfollowers.docs.datagrams;

import org.jspecify.annotations.NullMarked;
