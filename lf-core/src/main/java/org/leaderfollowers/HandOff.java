package org.leaderfollowers;

import java.time.Duration;
import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * A leadership that changed hands.
 *
 * @param number counts the hand-offs of the pool in the order in which they became known;
 * never used again, and greater than those of all that were known before. Numbers that
 * are missing are of hand-offs that nobody has looked at in time
 * @param at when the new leader took the leadership
 * @param handleSet the name of the handle set whose leadership it is
 * @param from the name of the thread that led before; {@code null} if none of the pool
 * did. It is the same as {@code to} if a thread found the leadership that it had given up
 * itself still vacant
 * @param to the name of the thread that leads now
 * @param kind how it came to lead
 * @param vacancy how long there was no leader; from the end of the lease on if it was
 * taken over
 * @param server the name of the server that the handle belongs to, or {@code null}
 * @param handle what the old leader went off to process, or {@code null} if it just gave
 * the leadership up
 * @param handler who processes it, or {@code null} if it is the engine itself
 */
public record HandOff(long number, Instant at, String handleSet, @Nullable String from, String to, PromotionKind kind,
		Duration vacancy, @Nullable String server, @Nullable String handle, @Nullable String handler) {
}
