/**
 * The protocol between front end and back ends.
 */
@NullMarked
package org.leaderfollowers.sample.tier;

import org.jspecify.annotations.NullMarked;
