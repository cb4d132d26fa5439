/**
 * The code of the chapter about event sources.
 */
@NullMarked
package org.leaderfollowers.docs.sources;

import org.jspecify.annotations.NullMarked;
