/**
 * The code of the chapter about clients.
 */
@NullMarked
package org.leaderfollowers.docs.clients;

import org.jspecify.annotations.NullMarked;
