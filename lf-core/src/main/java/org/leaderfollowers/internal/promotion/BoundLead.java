package org.leaderfollowers.internal.promotion;

/**
 * What a bound thread has to do with a leadership: it can read, but not run the handlers
 * of most events. These events need an unbound thread, which may lead elsewhere.
 * <p>
 * Only the thread in the third column changes the state:
 * <table border="1">
 * <caption>Transitions</caption>
 * <tr>
 * <th>from</th>
 * <th>to</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>any</td>
 * <td>NONE</td>
 * <td>an unbound thread that has taken the leadership, before it waits</td>
 * <td>it runs all handlers</td>
 * </tr>
 * <tr>
 * <td>any</td>
 * <td>LEADS</td>
 * <td>a bound thread that has taken the leadership, before it waits</td>
 * <td>it is not counted on for events of other leaderships</td>
 * </tr>
 * <tr>
 * <td>LEADS</td>
 * <td>HOLDS</td>
 * <td>the bound leader</td>
 * <td>it has events for an unbound thread; published <em>before</em> it looks for a
 * leader that waits</td>
 * </tr>
 * <tr>
 * <td>HOLDS</td>
 * <td>LEADS</td>
 * <td>the bound leader</td>
 * <td>other threads have taken these events</td>
 * </tr>
 * <tr>
 * <td>HOLDS</td>
 * <td>LEFT</td>
 * <td>the bound leader, before it gives the leadership up</td>
 * <td>an unbound leader waits elsewhere, and is made to take this leadership in place of
 * its own one; see {@link BoundThreads}. A bound thread must not take it</td>
 * </tr>
 * <tr>
 * <td>LEFT</td>
 * <td>NONE</td>
 * <td>a thread that looks for bound threads and finds no unbound leader that waits</td>
 * <td>that leader has other work; a compare-and-set, because another thread may have
 * taken the leadership meanwhile</td>
 * </tr>
 * </table>
 */
enum BoundLead {

	/** No bound thread leads, or none cares who leads next. */
	NONE,

	/** A bound thread leads. */
	LEADS,

	/** A bound thread leads and has events for an unbound thread. */
	HOLDS,

	/** The leadership was given up for an unbound thread. */
	LEFT

}
