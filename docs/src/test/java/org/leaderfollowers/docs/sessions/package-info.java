/**
 * The examples of the chapter about sessions.
 */
@NullMarked
package org.leaderfollowers.docs.sessions;

import org.jspecify.annotations.NullMarked;
