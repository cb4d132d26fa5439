/**
 * What a leader needs to demultiplex the events of its handle set: the claim of a handle,
 * the requests of other threads for the leader's attention, the events that are ready,
 * the deadlines. Knows nothing of sockets' meaning, pools or protocols.
 */
@NullMarked
package org.leaderfollowers.internal.demultiplexing;

import org.jspecify.annotations.NullMarked;
