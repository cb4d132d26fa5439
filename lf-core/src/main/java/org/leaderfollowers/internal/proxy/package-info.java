/**
 * The PROXY protocol, versions 1 and 2: what a load balancer says about the client whose
 * connection it forwards.
 */
@NullMarked
package org.leaderfollowers.internal.proxy;

import org.jspecify.annotations.NullMarked;
