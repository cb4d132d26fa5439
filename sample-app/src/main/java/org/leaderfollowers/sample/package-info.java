/**
 * The back-end of the paper's on-line transaction processing system, as an application of
 * the starter. One line of JSON is one transaction on a real database; read
 * {@link org.leaderfollowers.sample.OltpHandler} first.
 */
@NullMarked
package org.leaderfollowers.sample;

import org.jspecify.annotations.NullMarked;
