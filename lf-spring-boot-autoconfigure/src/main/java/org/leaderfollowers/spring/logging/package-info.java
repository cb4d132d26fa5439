/**
 * What lines of the log have in common.
 */
@NullMarked
package org.leaderfollowers.spring.logging;

import org.jspecify.annotations.NullMarked;
