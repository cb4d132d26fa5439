package org.leaderfollowers.sample;

/**
 * The tiers of the system, from the clients to the database:
 * <ul>
 * <li>The front-end communication server validates the requests of clients and routes
 * them to back ends.
 * <li>Two back ends perform the transactions. Each account belongs to one of them, and
 * the other takes over while that one is unavailable.
 * <li>The database is shared by both back ends.
 * </ul>
 * By default all of them run in one process. A profile named {@code frontend},
 * {@code backend1}, {@code backend2} or {@code database} starts a separate process for
 * this tier. The constants are expressions for
 * {@link org.springframework.context.annotation.Profile @Profile}.
 */
public final class Tiers {

	/** Selects processes that run the front end. */
	public static final String FRONT_END = "!backend1 & !backend2 & !database";

	/** Selects processes that run the first back end. */
	public static final String BACK_END_1 = "!frontend & !backend2 & !database";

	/** Selects processes that run the second back end. */
	public static final String BACK_END_2 = "!frontend & !backend1 & !database";

	/** Selects processes that perform transactions. */
	public static final String BACK_END = "!frontend & !database";

	/** Selects processes that access the database. */
	public static final String DATA_SOURCE = "!frontend";

	/** Selects the process that offers the database to other processes. */
	public static final String DATABASE = "database";

	private Tiers() {
	}

}
