/**
 * What the engine would do on more processors than there are: the costs of its steps are
 * measured here, and a simulation puts them together.
 */
@NullMarked
package org.leaderfollowers.benchmarks.simulation;

import org.jspecify.annotations.NullMarked;
