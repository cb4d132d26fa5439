/** Tests of the sample, mostly from the point of view of its clients. */
@NullMarked
package org.leaderfollowers.sample;

import org.jspecify.annotations.NullMarked;
