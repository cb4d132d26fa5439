/**
 * Auto-configuration for Leader/Followers servers.
 */
@NullMarked
package org.leaderfollowers.spring.autoconfigure;

import org.jspecify.annotations.NullMarked;
