/**
 * What servers and pools need in order to live and to end: waiting until all is done, and
 * trying again after a failure.
 */
@NullMarked
package org.leaderfollowers.internal.lifecycle;

import org.jspecify.annotations.NullMarked;
