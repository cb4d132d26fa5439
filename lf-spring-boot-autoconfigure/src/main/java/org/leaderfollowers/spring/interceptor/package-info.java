/** Interceptors and decorators of the handlers of a server. */
@NullMarked
package org.leaderfollowers.spring.interceptor;

import org.jspecify.annotations.NullMarked;
