/**
 * The protocol of the clients.
 */
@NullMarked
package org.leaderfollowers.sample.client;

import org.jspecify.annotations.NullMarked;
