/**
 * Annotations for the beans of an application.
 */
@NullMarked
package org.leaderfollowers.spring.annotation;

import org.jspecify.annotations.NullMarked;
