/**
 * The on-line transaction processing system of the paper, as an application of the
 * starter. One line of JSON is one transaction. Front end and back ends are in separate
 * packages; read {@link org.leaderfollowers.sample.Tiers} first.
 */
@NullMarked
package org.leaderfollowers.sample;

import org.jspecify.annotations.NullMarked;
