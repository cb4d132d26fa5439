package org.leaderfollowers;

import java.time.Duration;
import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * A hand-off: a leadership passed from one thread to another.
 *
 * @param number counts the hand-offs of the pool in the order in which they became known;
 * a number is never used again, and is greater than all earlier numbers. Missing numbers
 * belong to hand-offs that were overwritten before they were read
 * @param at when the new leader took the leadership
 * @param handleSet the name of the handle set or event source that is led
 * @param from the name of the thread that led before; {@code null} if no thread of the
 * pool did. It is the same as {@code to} if a thread gave up the leadership and took it
 * back while it was vacant
 * @param to the name of the thread that leads now
 * @param kind how the new leader came to lead
 * @param vacancy how long there was no leader; after a takeover, from the end of the
 * lease on
 * @param server the name of the server that the handle belongs to, or {@code null}
 * @param handle the handle that the old leader then processed, or {@code null} if it only
 * gave up the leadership
 * @param handler the name of the handler that processes it, or {@code null} if the engine
 * itself does
 */
public record HandOff(long number, Instant at, String handleSet, @Nullable String from, String to, PromotionKind kind,
		Duration vacancy, @Nullable String server, @Nullable String handle, @Nullable String handler) {
}
