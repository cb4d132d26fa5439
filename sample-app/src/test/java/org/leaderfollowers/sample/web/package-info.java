/**
 * Tests of the web server of the sample.
 */
@NullMarked
package org.leaderfollowers.sample.web;

import org.jspecify.annotations.NullMarked;
