/**
 * A server for protocols other than HTTP, built on the Leader/Followers pattern: the
 * thread that detects an event processes it, while another takes its place at the handle
 * set.
 * <p>
 * Every type that an application touches is in this package. Start with
 * {@link org.leaderfollowers.TcpServer} and {@link org.leaderfollowers.MessageHandler};
 * {@link org.leaderfollowers.LeaderFollowersPool} says where to read the path of an
 * event.
 * <p>
 * "The paper" is <em>Leader/Followers: A Design Pattern for Efficient Multi-threaded
 * Event Demultiplexing and Dispatching</em> by Schmidt, O'Ryan, Kircher, Pyarali and
 * Buschmann, also in <em>Pattern-Oriented Software Architecture</em>, volume 2; sections
 * and activities are those of it.
 *
 * @serial exclude
 */
@NullMarked
package org.leaderfollowers;

import org.jspecify.annotations.NullMarked;
