/**
 * Micro-benchmarks of the parts of the engine that each request passes.
 * <p>
 * After {@code ./mvnw package -pl lf-benchmarks -am -DskipTests}, all of them are run by
 *
 * <pre>
 * java -cp lf-benchmarks/target/lf-benchmarks-0.1.0-SNAPSHOT.jar org.openjdk.jmh.Main
 * </pre>
 *
 * and some of them with a pattern behind it, for example {@code Framing} or
 * {@code Promotion.handOff}; {@code -prof gc} adds what they allocate, and {@code -h}
 * lists the rest. They say what a change of such a part costs or saves; what a server
 * costs is told by the comparisons of whole servers only.
 */
@NullMarked
package org.leaderfollowers.benchmarks.jmh;

import org.jspecify.annotations.NullMarked;
