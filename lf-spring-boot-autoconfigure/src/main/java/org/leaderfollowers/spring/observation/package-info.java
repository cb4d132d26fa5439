/**
 * Observation of the messages that handlers process, and their timers.
 */
@NullMarked
package org.leaderfollowers.spring.observation;

import org.jspecify.annotations.NullMarked;
