/**
 * The front-end communication server: accepts the requests of clients and forwards them
 * to back ends. Read {@link org.leaderfollowers.sample.frontend.FrontEndHandler} first.
 */
@NullMarked
package org.leaderfollowers.sample.frontend;

import org.jspecify.annotations.NullMarked;
