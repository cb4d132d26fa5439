/**
 * The examples of the chapter about classes of service.
 */
@NullMarked
package org.leaderfollowers.docs.classes;

import org.jspecify.annotations.NullMarked;
