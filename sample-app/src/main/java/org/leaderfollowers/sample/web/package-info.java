/**
 * A web server for static files in the manner of JAWS, one of the known uses of the
 * pattern; read {@link org.leaderfollowers.sample.web.WebHandler} first.
 */
@NullMarked
package org.leaderfollowers.sample.web;

import org.jspecify.annotations.NullMarked;
