/**
 * The front-end communication server: takes the requests of clients and has back ends
 * perform them. Read {@link org.leaderfollowers.sample.frontend.FrontEndHandler} first.
 */
@NullMarked
package org.leaderfollowers.sample.frontend;

import org.jspecify.annotations.NullMarked;
