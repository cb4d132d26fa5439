/**
 * Starting and stopping of servers and pools: waiting for the end, and retrying after a
 * failure.
 */
@NullMarked
package org.leaderfollowers.internal.lifecycle;

import org.jspecify.annotations.NullMarked;
