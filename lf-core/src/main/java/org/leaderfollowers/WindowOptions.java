package org.leaderfollowers;

import org.jspecify.annotations.Nullable;

/**
 * How the messages of one connection are handled in parallel.
 *
 * @param maxInFlight how many may be in flight, at least 2
 * @param order which of them are handled one after the other, or {@code null}
 * @param replyOrder in which order their replies leave
 */
record WindowOptions(int maxInFlight, @Nullable MessageOrder order, ReplyOrder replyOrder) {
}
