/**
 * The back end: performs transactions on a database. Read
 * {@link org.leaderfollowers.sample.backend.BackEndHandler} first.
 */
@NullMarked
package org.leaderfollowers.sample.backend;

import org.jspecify.annotations.NullMarked;
