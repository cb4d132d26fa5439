/**
 * Servers that speak TLS with the keys of Spring Boot's SSL bundles.
 */
@NullMarked
package org.leaderfollowers.spring.ssl;

import org.jspecify.annotations.NullMarked;
