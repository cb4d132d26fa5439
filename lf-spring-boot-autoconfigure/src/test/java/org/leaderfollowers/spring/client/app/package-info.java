/**
 * An application with a client, to be searched.
 */
@NullMarked
package org.leaderfollowers.spring.client.app;

import org.jspecify.annotations.NullMarked;
