/**
 * Every server keeps the protocol, so that what is compared is the same.
 */
@NullMarked
package org.leaderfollowers.benchmarks.servers;

import org.jspecify.annotations.NullMarked;
