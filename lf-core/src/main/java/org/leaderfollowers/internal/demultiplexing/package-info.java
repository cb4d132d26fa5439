/**
 * The parts that a leader needs to demultiplex the events of its handle set: claims of
 * handles, requests of other threads, ready handles, and deadlines. This package knows
 * nothing of pools or protocols.
 */
@NullMarked
package org.leaderfollowers.internal.demultiplexing;

import org.jspecify.annotations.NullMarked;
