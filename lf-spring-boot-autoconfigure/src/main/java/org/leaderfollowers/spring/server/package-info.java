/**
 * The servers and pools of an application context, and their lifecycle.
 */
@NullMarked
package org.leaderfollowers.spring.server;

import org.jspecify.annotations.NullMarked;
