/**
 * Tests of the sample, as far as possible from the point of view of its clients.
 */
@NullMarked
package org.leaderfollowers.sample;

import org.jspecify.annotations.NullMarked;
