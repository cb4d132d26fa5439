/**
 * The dashboard, the rules and the runbook, checked against a live application.
 */
@NullMarked
package org.leaderfollowers.docs.monitoring;

import org.jspecify.annotations.NullMarked;
