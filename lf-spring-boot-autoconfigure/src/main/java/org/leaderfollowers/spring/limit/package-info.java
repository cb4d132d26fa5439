/**
 * Limits that apply to each client of a server.
 */
@NullMarked
package org.leaderfollowers.spring.limit;

import org.jspecify.annotations.NullMarked;
