/**
 * Makes a site of pages from the guide that Asciidoctor has converted to one page.
 */
@NullMarked
package org.leaderfollowers.docs.site;

import org.jspecify.annotations.NullMarked;
