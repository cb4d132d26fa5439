/**
 * What the info endpoint tells of Leader/Followers pools and servers.
 */
@NullMarked
package org.leaderfollowers.spring.info;

import org.jspecify.annotations.NullMarked;
