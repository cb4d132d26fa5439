/**
 * The settings and manifests of the chapter about containers, tested.
 */
@NullMarked
package org.leaderfollowers.docs.containers;

import org.jspecify.annotations.NullMarked;
