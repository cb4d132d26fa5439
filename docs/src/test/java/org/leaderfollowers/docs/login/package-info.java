/**
 * The examples of the chapter about login and roles.
 */
@NullMarked
package org.leaderfollowers.docs.login;

import org.jspecify.annotations.NullMarked;
