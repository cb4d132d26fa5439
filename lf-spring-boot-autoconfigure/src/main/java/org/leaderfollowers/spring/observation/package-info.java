/**
 * Observation of the messages that handlers process.
 */
@NullMarked
package org.leaderfollowers.spring.observation;

import org.jspecify.annotations.NullMarked;
