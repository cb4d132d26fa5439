package org.leaderfollowers;

import org.jspecify.annotations.Nullable;

/**
 * The options for messages of one connection that are handled in parallel.
 *
 * @param maxInFlight the maximum number of messages in flight, at least 2
 * @param order selects the messages that are handled one after the other, or {@code null}
 * for none
 * @param replyOrder the order in which replies leave
 */
record WindowOptions(int maxInFlight, @Nullable MessageOrder order, ReplyOrder replyOrder) {
}
